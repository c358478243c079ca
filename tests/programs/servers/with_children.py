"""Starts a process that would outlive it, in a session of its own, and tells both numbers."""

import os
import subprocess
import sys

from plain_server import Server, text

CHILD = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, stdin=subprocess.DEVNULL
)


class Parent(Server):
    def call(self, name, arguments, request):
        return text(f"{os.getpid()} {CHILD.pid}")


Parent().serve()
