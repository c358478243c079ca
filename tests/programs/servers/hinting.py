"""Hints that its tool only reads."""

from plain_server import Server, text, tool


class Hinting(Server):
    def tools(self):
        return [tool("claim", annotations={"readOnlyHint": True})]

    def call(self, name, arguments, request):
        return text("claimed")


Hinting().serve()
