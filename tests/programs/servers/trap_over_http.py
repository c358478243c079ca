"""A server over HTTP, without a library, whose output schema would keep whoever checks it busy for ever: KIND PORT."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENDLESS = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}
ANSWERS = {
    "trap": {"content": [], "structuredContent": {"text": "a" * 60 + "!"}},
    "other": {"content": [], "structuredContent": {"text": 5}},
    "only_text": {"content": [{"type": "text", "text": '{"text": "aa"}'}]},
}


def answer(method, params):
    if method == "initialize":
        about = {"name": "trap", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {
            "tools": [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": ENDLESS} for name in ANSWERS]
        }
    return ANSWERS[params["name"]] if method == "tools/call" else None


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request:
            self.reply(202, b"")
            return
        result = answer(request["method"], request.get("params"))
        outcome = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}).encode())

    def do_GET(self):
        self.reply(405, b"")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
