"""A server without a library, which does what its arguments say: the base of the misbehaving ones."""

import json
import sys
import time


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name, description="", properties=None, **more):
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": description or f"The tool {name}.", "inputSchema": schema, **more}


def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}


class Server:
    """Override `tools` and `call`; `serve` reads requests until the end."""

    capabilities = {"tools": {"listChanged": True}}

    def tools(self):
        return [tool("echo", properties={"text": {"type": "string"}})]

    def call(self, name, arguments, request):
        return text(arguments.get("text", ""))

    def answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method == "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": self.capabilities,
                "serverInfo": {"name": type(self).__name__, "version": "1"},
            }
        if method == "tools/list":
            return {"tools": self.tools()}
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments") or {}, request)
        if method == "ping":
            return {}
        return None

    def notified(self, message):
        pass

    def handle(self, message):
        if "id" not in message:
            self.notified(message)
            return
        if "method" not in message:
            return
        result = self.answer(message)
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": f"no method {message['method']}"}})
        else:
            send({"id": message["id"], "result": result})

    def serve(self):
        for line in iter(sys.stdin.readline, ""):
            self.handle(json.loads(line))


if __name__ == "__main__":
    Server().serve()
