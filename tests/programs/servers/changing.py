"""Its tools differ at each start (a file counts them), and change while it runs when the tool `grow` is called."""

import sys
from pathlib import Path

from plain_server import Server, send, text, tool

COUNTER = Path(sys.argv[1])


class Changing(Server):
    def __init__(self):
        self.number = int(COUNTER.read_text()) if COUNTER.exists() else 0
        COUNTER.write_text(str(self.number + 1))
        self.grown = 0

    def tools(self):
        grown = [tool(f"grown_{number}") for number in range(self.grown)]
        return [tool("grow", f"Grows. Start {self.number}."), tool(f"start_{self.number}"), *grown]

    def call(self, name, arguments, request):
        if name == "grow":
            self.grown += 1
            send({"method": "notifications/tools/list_changed"})
        return text(f"{name} in start {self.number}")


Changing().serve()
