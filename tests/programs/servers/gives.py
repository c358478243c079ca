"""Each of its tools gives back the value that it is asked for; its version is in a file."""

import json
import sys
from pathlib import Path

from plain_server import Server, text, tool

VERSION = Path(sys.argv[1])
DECLARED = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


class Gives(Server):
    def tools(self):
        asked = {"value": {}, "as_text": {"type": "boolean"}}
        open_ones = [tool(f"open_{number}", properties=asked) for number in range(8)]
        return [*open_ones, tool("declared", properties=asked, outputSchema=DECLARED)]

    def answer(self, request):
        found = super().answer(request)
        if request["method"] == "initialize" and VERSION.exists():
            found["serverInfo"]["version"] = VERSION.read_text()
        return found

    def call(self, name, arguments, request):
        value = arguments["value"]
        if value == "fail":
            return {**text("it failed"), "isError": True}
        if arguments.get("as_text"):
            return text(value if isinstance(value, str) else json.dumps(value))
        return {"content": [], "structuredContent": value}


Gives().serve()
