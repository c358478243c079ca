"""Ends as soon as it has answered a call."""

import os

from plain_server import Server, send, text


class Once(Server):
    def handle(self, message):
        if message.get("method") == "tools/call":
            send({"id": message["id"], "result": text(os.getpid())})
            raise SystemExit(0)
        super().handle(message)


Once().serve()
