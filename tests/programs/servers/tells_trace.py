"""Tells in which trace it was called, read or asked for a prompt."""

from plain_server import Server, text


class TellsTrace(Server):
    capabilities = {"tools": {}, "resources": {}, "prompts": {}}

    def call(self, name, arguments, request):
        return text(trace_of(request))

    def answer(self, request):
        method = request["method"]
        if method == "resources/list":
            return {"resources": [{"uri": "trace://now", "name": "now"}]}
        if method == "resources/read":
            return {"contents": [{"uri": "trace://now", "text": trace_of(request)}]}
        if method == "prompts/list":
            return {"prompts": [{"name": "now"}]}
        if method == "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": trace_of(request)}}]}
        return super().answer(request)


def trace_of(request):
    return (request["params"].get("_meta") or {}).get("traceparent", "none")


TellsTrace().serve()
