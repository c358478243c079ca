"""Goes on when its stdin has ended, until SIGTERM, which it notes, or for good with `for-good`; tells its number."""

import os
import signal
import sys
import time
from pathlib import Path

from plain_server import Server, text

NOTE = Path(sys.argv[1])


def end(number, frame):
    NOTE.write_text("asked to end")
    if sys.argv[2:] != ["for-good"]:
        sys.exit()


class IgnoresTheEnd(Server):
    def call(self, name, arguments, request):
        return text(os.getpid())


signal.signal(signal.SIGTERM, end)
IgnoresTheEnd().serve()
while True:
    time.sleep(60)
