"""Tells in which trace it was called."""

from plain_server import Server, text


class TellsTrace(Server):
    def call(self, name, arguments, request):
        return text((request["params"].get("_meta") or {}).get("traceparent", "none"))


TellsTrace().serve()
