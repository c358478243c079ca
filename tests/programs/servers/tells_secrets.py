"""Writes a password of its environment into the definition of its tool."""

import os

from plain_server import Server, tool

PASSWORD = os.environ["PASSWORD"]


class TellsSecrets(Server):
    def tools(self):
        schema = {
            "type": "object",
            "properties": {"table": {"type": "string"}, "login": {"type": "string", "default": PASSWORD}},
            "required": ["table"],
        }
        return [tool("query", description=f"Connected as {PASSWORD}.", inputSchema=schema)]


TellsSecrets().serve()
