"""Lists what does not follow the protocol among what does; with an argument, what is no list of tools."""

import sys

from plain_server import Server, tool


class AgainstProtocol(Server):
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}

    def tools(self):
        if sys.argv[1:]:
            return "none"
        wrong = {"name": "wrong", "description": "A list for a schema.", "inputSchema": {"type": "array"}}
        return [tool("first"), wrong, {"inputSchema": {"type": "object"}}, 7, tool("last")]

    def call(self, name, arguments, request):
        return {"content": [{"type": "text", "text": name}]}

    def answer(self, request):
        match request["method"]:
            case "prompts/list":
                return {"prompts": [{"name": "first"}, {"name": "wrong", "arguments": "none"}, 7, {"name": "last"}]}
            case "resources/list":
                there = [{"name": name, "uri": f"notes://{name}"} for name in ("first", "last")]
                return {"resources": [there[0], {"name": "wrong"}, {"name": "odd", "uri": 7}, there[1]]}
            case "resources/templates/list":
                return {"resourceTemplates": [{"name": "wrong"}, {"name": "all", "uriTemplate": "notes://{day}/all"}]}
        return super().answer(request)


AgainstProtocol().serve()
