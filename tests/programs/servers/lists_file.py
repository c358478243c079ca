"""The tools that a JSON file holds, which is named by the argument."""

import json
import sys
from pathlib import Path

from plain_server import Server, text


class Listing(Server):
    def tools(self):
        return json.loads(Path(sys.argv[1]).read_text())

    def call(self, name, arguments, request):
        return text(name)


Listing().serve()
