"""Schemas with recursion, references, alternatives, nothing at all, and a description of 200 kB."""

import json

from plain_server import Server, text

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }
    },
}
TOOLS = [
    {"name": "recursion", "inputSchema": TREE},
    {
        "name": "choice",
        "inputSchema": {
            "type": "object",
            "properties": {"value": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        },
    },
    {"name": "nothing", "inputSchema": {"type": "object"}},
    {"name": "wordy", "description": "word " * 40_000, "inputSchema": {"type": "object", "properties": {}}},
    {
        "name": "get-env",
        "inputSchema": {"type": "object", "properties": {"from": {"type": "string"}, "x-loc": {"type": "string"}}},
    },
]


class Odd(Server):
    def tools(self):
        return TOOLS

    def call(self, name, arguments, request):
        return text(json.dumps({name: arguments}))


Odd().serve()
