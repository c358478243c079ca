"""A server on the official SDK that tries whatever it is told to, and says what came of it."""

import ctypes
import mmap
import os
import socket
import subprocess
import sys
import time
import urllib.request

from mcp.server.mcpserver import MCPServer

libc = ctypes.CDLL(None, use_errno=True)
server = MCPServer("hostile")


def syscall(number, *arguments):
    """A system call by its number; raises OSError."""
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def exchange(family, kind, address, data=b"hello"):
    """Send something to an address by a socket of any kind."""
    with socket.socket(family, kind) as end:
        end.settimeout(5)
        if kind == socket.SOCK_DGRAM:
            return end.sendto(data, address)
        end.connect(address)
        return end.send(data)


def fetch(url):
    """Fetch a page as any library does: by the proxy that the environment names."""
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read(1000).decode()


def hold(size, *, shared=False):
    """Take so many bytes of memory, and use them."""
    taken = mmap.mmap(-1, size, flags=mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE)
    for place in range(0, size, 4096):
        taken[place] = 1
    return taken


def descriptors():
    """What it has inherited, without asking /proc."""
    return [number for number in range(1024) if _is_open(number)]


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@server.tool()
def attempt(code: str) -> str:
    """Try a piece of Python."""
    try:
        return f"done: {eval(code, globals())!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    server.run()
