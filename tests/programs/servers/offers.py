"""A server that has what a file says beside tools: prompts, resources and templates, which it watches and completes.

    offers.py FILE

The file is JSON: `prompts`, `resources` and `templates` as they are listed, `contents` by address, `links` that a prompt
and the tool `link` give. Each use is a line in `FILE.used`. The tool `change` adds a resource and a prompt and says so;
`touch` says that a resource has changed. While there is `FILE.held`, it lists no prompts; `FILE.asked` says that it was
asked for them.
"""

import json
import sys
import time
from pathlib import Path

from plain_server import Server, send, tool


class Offers(Server):
    def __init__(self, file):
        self.file = Path(file)
        with Path(f"{file}.started").open("a") as started:
            started.write("1")
        self.added = []
        self.watched = set()
        self.said = json.loads(self.file.read_text())
        features = {name: {"listChanged": True} for name in ("tools", "prompts")}
        self.capabilities = {**features, "resources": {"listChanged": True, "subscribe": True}, "completions": {}}

    def tools(self):
        address = {"uri": {"type": "string"}}
        return [tool("change"), tool("touch", properties=address), tool("link")]

    def call(self, name, arguments, request):
        if name == "change":
            self.added.append({"uri": f"added://{len(self.added)}", "name": "added"})
            send({"method": "notifications/resources/list_changed"})
            send({"method": "notifications/prompts/list_changed"})
        elif name == "touch" and arguments["uri"] in self.watched:
            send({"method": "notifications/resources/updated", "params": {"uri": arguments["uri"]}})
        elif name == "link":
            return {"content": self.links()}
        return {"content": [{"type": "text", "text": "done"}]}

    def links(self):
        return [{"type": "resource_link", "uri": uri, "name": "link"} for uri in self.said.get("links", [])]

    def answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method not in ("initialize", "server/discover", "tools/list", "tools/call", "ping") and not method.endswith(
            "/list"
        ):
            with Path(f"{self.file}.used").open("a") as used:
                used.write(json.dumps([method, params], sort_keys=True) + "\n")
        match method:
            case "prompts/list":
                Path(f"{self.file}.asked").touch()
                while Path(f"{self.file}.held").exists():
                    time.sleep(0.01)
                added = [{"name": f"added_{number}"} for number, _ in enumerate(self.added)]
                return {"prompts": [*self.said.get("prompts", []), *added]}
            case "resources/list":
                return {"resources": [*self.said.get("resources", []), *self.added]}
            case "resources/templates/list":
                return {"resourceTemplates": self.said.get("templates", [])}
            case "resources/read":
                content = {"mimeType": "text/plain", "text": f"{self.file.name} has {params['uri']}"}
                content = self.said.get("contents", {}).get(params["uri"], content)
                return {"contents": [{"uri": params["uri"], **content}]}
            case "prompts/get":
                text = {"type": "text", "text": f"{params['name']} {json.dumps(params.get('arguments'))}"}
                messages = [{"role": "user", "content": each} for each in (text, *self.links())]
                return {"description": "filled", "messages": messages}
            case "completion/complete":
                return {"completion": {"values": [f"{params['argument']['value']}-{self.file.name}"], "total": 1}}
            case "resources/subscribe":
                self.watched.add(params["uri"])
                return {}
            case "resources/unsubscribe":
                self.watched.discard(params["uri"])
                return {}
        return super().answer(request)


if __name__ == "__main__":
    Offers(sys.argv[1]).serve()
