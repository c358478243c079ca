"""A server whose tool has a view: the page that a file has, which may change.

    shows_views.py FILE

`show` is shown by the page, `refresh` is for views only, `huge` answers with a large `_meta`, and `told` gives what the
client has said of itself. `FILE.used` has a line for each call.
"""

import json
import sys
from pathlib import Path

from plain_server import Server, text, tool

VIEW = "ui://shows/page"


class ShowsViews(Server):
    def __init__(self, file):
        self.file = Path(file)
        self.capabilities = {"tools": {}, "resources": {}}
        self.claims = {}

    def tools(self):
        shown = {"ui": {"resourceUri": VIEW}}
        for_views = {"ui": {"visibility": ["app"]}}
        words = {"text": {"type": "string"}}
        return [
            tool("show", properties=words, _meta=shown),
            tool("huge", _meta=shown),
            tool("refresh", properties=words, _meta=for_views),
            tool("told"),
            tool("for_models", _meta={"ui": {"visibility": ["model"]}}),
        ]

    def call(self, name, arguments, request):
        with Path(f"{self.file}.used").open("a") as used:
            used.write(json.dumps([name, arguments]) + "\n")
        if name == "huge":
            return {**text("huge"), "_meta": {"x": "y" * 2_000_000}}
        if name == "told":
            return text(json.dumps(self.claims))
        return {**text(f"{name}: {arguments.get('text', '')}"), "_meta": {"example/of": name}}

    def answer(self, request):
        match request["method"]:
            case "initialize":
                self.claims = request["params"]["capabilities"]
            case "resources/list":
                return {"resources": [{"uri": VIEW, "name": "page", "mimeType": "text/html;profile=mcp-app"}]}
            case "resources/templates/list":
                return {"resourceTemplates": []}
            case "resources/read":
                uri = request["params"]["uri"]
                page = {"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": self.file.read_text()}
                page["_meta"] = {"ui": {"csp": {"connectDomains": ["https://example.com"]}}}
                return {"contents": [page if uri == VIEW else {"uri": uri, "text": f"content of {uri}"}]}
        return super().answer(request)


if __name__ == "__main__":
    ShowsViews(sys.argv[1]).serve()
