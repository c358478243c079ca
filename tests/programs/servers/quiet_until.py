"""Says nothing until the file that it is given is there, then serves one tool: `nobody_knows`."""

import sys
import time
from pathlib import Path

from plain_server import Server, tool


class Quiet(Server):
    def tools(self):
        return [tool("nobody_knows", "Nobody knows it.")]

    def handle(self, message):
        while not Path(sys.argv[1]).exists():
            time.sleep(0.01)
        super().handle(message)


if __name__ == "__main__":
    Quiet().serve()
