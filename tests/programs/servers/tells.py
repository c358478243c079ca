"""It says of itself what a JSON file says: title, instructions, tools and prompts, read again for each request.

To a client that can be asked, it says what `asking` says instead.
"""

import json
import sys
from pathlib import Path

from plain_server import Server, text, tool

FILE = Path(sys.argv[-1])


class Tells(Server):
    capabilities = {"tools": {}, "prompts": {}}

    asking = False

    def answer(self, request):
        said = json.loads(FILE.read_text())
        if request["method"] == "initialize":
            self.asking = "elicitation" in request["params"]["capabilities"]
        if self.asking:
            said |= said.get("asking", {})
        if request["method"] == "initialize":
            info = {"name": "tells", "title": said.get("title", "Tells"), "version": "1"}
            instructions = said.get("instructions", "Ask politely.")
            return {**super().answer(request), "serverInfo": info, "instructions": instructions}
        if request["method"] == "tools/list":
            return {"tools": said.get("tools", [tool("ask", "Asks.")])}
        if request["method"] == "prompts/list":
            return {"prompts": said.get("prompts", [{"name": "greet", "description": "Greets."}])}
        if request["method"] == "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello."}}]}
        return super().answer(request)

    def call(self, name, arguments, request):
        return text(f"{name} was called")


Tells().serve()
