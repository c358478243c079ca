"""Makes tokens, each of which is an effect that must not happen twice: a line of a file, which only this program writes."""

import os
import secrets
import sys

from plain_server import Server, text, tool


class Mints(Server):
    def tools(self):
        return [tool("token", properties={"name": {"type": "string"}})]

    def call(self, name, arguments, request):
        token = secrets.token_hex(8)
        ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(ledger, f"{arguments['name']} {token}\n".encode())
        os.fsync(ledger)
        os.close(ledger)
        return text(token)


Mints().serve()
