"""Prints what is no message: before it serves, between messages, and around every answer."""

import sys

from plain_server import Server, text


class Banner(Server):
    def call(self, name, arguments, request):
        print("DEBUG about to answer", arguments.get("text"))
        print('{"half": "of a message"')
        print("[1, 2, 3]")
        print("\x00\xff binary", flush=True)
        return text(arguments["text"])


sys.stdout.write("==============\nWelcome to the banner server! token=hunter2-hunter2\n\n")
sys.stdout.flush()
Banner().serve()
