"""Calls that take long, tell how far they are, and stop when they are cancelled; what was cancelled is written down."""

import json
import sys
import threading
import time
from pathlib import Path

from plain_server import Server, send, text, tool

JOURNAL = Path(sys.argv[1])


class Slow(Server):
    def __init__(self):
        self.cancelled = {}

    def tools(self):
        return [
            tool("wait", properties={"seconds": {"type": "number"}}),
            tool("hold", properties={"folder": {"type": "string"}}),
            tool("count", properties={"to": {"type": "integer"}}),
        ]

    def handle(self, message):
        if message.get("method") == "tools/call":
            self.cancelled[message["id"]] = threading.Event()
            threading.Thread(target=super().handle, args=(message,), daemon=True).start()
        else:
            super().handle(message)

    def notified(self, message):
        if message["method"] == "notifications/cancelled":
            number = message["params"]["requestId"]
            with JOURNAL.open("a") as file:
                file.write(json.dumps({"cancelled": number in self.cancelled}) + "\n")
            if number in self.cancelled:
                self.cancelled[number].set()

    def call(self, name, arguments, request):
        if name == "wait":
            self.cancelled[request["id"]].wait(arguments["seconds"])
            return text("done")
        if name == "hold":
            Path(arguments["folder"], "begun").touch()
            while not Path(arguments["folder"], "end").exists():
                time.sleep(0.01)
            return text("done")
        token = (request["params"].get("_meta") or {}).get("progressToken")
        for number in range(1, arguments["to"] + 1):
            if token is not None:
                params = {
                    "progressToken": token,
                    "progress": number,
                    "total": arguments["to"],
                    "message": f"step {number}",
                }
                send({"method": "notifications/progress", "params": params})
            time.sleep(0.15)
        return text(arguments["to"])


Slow().serve()
