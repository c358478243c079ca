"""Asks its client in the middle of a call: for a model's words, a person's, the roots; and writes to its log."""

import itertools
import json
import sys

from plain_server import Server, send, text, tool

ASKED = {
    "sample": (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Say yes"}}], "maxTokens": 10},
    ),
    "elicit": (
        "elicitation/create",
        {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    ),
    "roots": ("roots/list", None),
}


class Asks(Server):
    capabilities = {"tools": {}, "logging": {}}
    numbers = itertools.count(1)

    def tools(self):
        return [tool(name) for name in (*ASKED, "log")]

    def call(self, name, arguments, request):
        if name == "log":
            send(
                {
                    "method": "notifications/message",
                    "params": {"level": "warning", "logger": "inner", "data": "careful"},
                }
            )
            return text("logged")
        method, params = ASKED[name]
        number = f"asked-{next(self.numbers)}"
        send({"id": number, "method": method, **({"params": params} if params else {})})
        while True:
            message = json.loads(sys.stdin.readline())
            if message.get("id") == number:
                return text(json.dumps(message.get("result", message.get("error"))))


Asks().serve()
