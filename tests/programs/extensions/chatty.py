"""Prints at import and in calls, on every way there is."""

import os
import subprocess
import sys

print("printed at import")
sys.stdout.write("half a line at import")
os.system("echo from a program at import")


def shout(*, text: str) -> str:
    print("printed in a call")
    sys.stdout.write("half a line in a call")
    sys.__stdout__.write("on the original stdout\n")
    os.write(1, b"on descriptor 1\n")
    subprocess.run(["echo", "from a program"])
    sys.stdout.flush()
    return text.upper()


def flood(*, size: int) -> int:
    piece = b"x" * 65535 + b"\n"
    for _ in range(size // len(piece)):
        os.write(2, piece)
    return size


def listen() -> str:
    return sys.stdin.read()
