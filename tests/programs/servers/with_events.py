"""A calendar whose events are created and deleted; its file says what was done, line by line."""

import json
import sys
from pathlib import Path

from plain_server import Server, text, tool

FILE = Path(sys.argv[1])


class Calendar(Server):
    def tools(self):
        texts = {name: {"type": "string"} for name in ("title", "id")}
        return [
            tool("create_event", properties={"title": texts["title"]}),
            tool("delete_event", properties={"id": texts["id"]}),
        ]

    def call(self, name, arguments, request):
        with FILE.open("a") as file:
            file.write(f"{name} {json.dumps(arguments)}\n")
        if name == "create_event":
            made = {"id": f"event-{len(FILE.read_text().splitlines())}", "title": arguments["title"]}
            return {**text(json.dumps(made)), "structuredContent": made}
        return text("deleted")


if __name__ == "__main__":
    Calendar().serve()
