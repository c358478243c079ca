"""Answers of 20 MB, and a line of 20 MB that is no message."""

import sys

from plain_server import Server, text, tool

SIZE = 20 * 1024 * 1024


class Large(Server):
    def tools(self):
        return [tool("answer"), tool("garbage"), tool("measure", properties={"text": {"type": "string"}})]

    def call(self, name, arguments, request):
        if name == "answer":
            return text("x" * SIZE)
        if name == "garbage":
            sys.stdout.write("y" * SIZE + "\n")
        return text(len(arguments.get("text", "")))


Large().serve()
