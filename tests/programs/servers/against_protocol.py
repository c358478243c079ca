"""Lists tools that do not follow the protocol among those that do; with an argument, what is no list of tools."""

import sys

from plain_server import Server, tool


class AgainstProtocol(Server):
    def tools(self):
        if sys.argv[1:]:
            return "none"
        wrong = {"name": "wrong", "description": "A list for a schema.", "inputSchema": {"type": "array"}}
        return [tool("first"), wrong, {"inputSchema": {"type": "object"}}, 7, tool("last")]

    def call(self, name, arguments, request):
        return {"content": [{"type": "text", "text": name}]}


AgainstProtocol().serve()
