"""Serves, then stops reading: what is sent to it stays in the pipe."""

import time

from plain_server import Server, text


class Deaf(Server):
    def call(self, name, arguments, request):
        time.sleep(600)
        return text("never")


Deaf().serve()
