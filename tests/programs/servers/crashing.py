"""Dies in the middle of a call, with last words; `once` and `unsaid` die only the first time (a file remembers)."""

import os
import sys
from pathlib import Path

from plain_server import Server, text, tool

DIED = Path(sys.argv[1])


class Crashing(Server):
    def tools(self):
        return [
            tool("die"),
            tool("fine"),
            tool("once", annotations={"readOnlyHint": True}),
            tool("unsaid"),
            tool("fail"),
            tool("refuse"),
        ]

    def call(self, name, arguments, request):
        if name == "die" or (name in ("once", "unsaid") and not DIED.exists()):
            DIED.touch()
            sys.stderr.write("Traceback: the disk is full\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "fail":
            return {"isError": True, "content": [{"type": "text", "text": "no such row"}]}
        return None if name == "refuse" else text("fine")


Crashing().serve()
