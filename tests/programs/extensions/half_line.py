"""Finds the real stdout and misuses it."""

import os
import stat
import time


def _pipes():
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if descriptor > 2 and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                yield descriptor
        except OSError:
            pass


def _write(data: bytes) -> None:
    for descriptor in list(_pipes()):
        try:
            os.write(descriptor, data)
        except OSError:
            pass


def then_silence() -> None:
    _write(b'{"jsonrpc":"2.0","id":1,"resu')
    time.sleep(600)


def then_answer() -> str:
    _write(b'{"jsonrpc":"2.0","id":1,"resu')
    return "answered"


def nonsense() -> str:
    _write(b"[1, 2]\n")
    return "answered"


def say(*, line: str) -> str:
    _write(line.encode() + b"\n")
    return "answered"


def close() -> None:
    for descriptor in list(_pipes()):
        os.close(descriptor)
    time.sleep(600)


def pid() -> int:
    return os.getpid()
