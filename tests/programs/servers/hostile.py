"""A program that tries whatever it is told to, and says what came of it.

`hostile.py JSON` evaluates each expression of an object and prints another object; without it, it is a server on the
official SDK.
"""

import ctypes
import http.client
import json
import mmap
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

HELD = []  # memory that is not given back


def syscall(number, *arguments):
    """A system call by its number; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "made"


def exchange(family, kind, address, data=b"hello"):
    """Send something to an address by a socket of any kind."""
    with socket.socket(family, kind) as end:
        end.settimeout(5)
        if kind == socket.SOCK_DGRAM:
            return end.sendto(data, address)
        end.connect(address)
        return end.send(data)


def fetch(url, data=None):
    """Fetch a page as any library does: by the proxy that the environment names, for this machine too."""
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=30) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        raise OSError(error.read().decode()) from None


def tunnel(host, port):
    """Fetch a page through a tunnel."""
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=30)
    connection.connect()
    connection.sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    answer = connection.sock.recv(65536).decode()
    if not answer.startswith("HTTP/1.1 200"):
        raise OSError(answer)
    connection.request("GET", "/", headers={"Host": f"{host}:{port}"})
    return connection.getresponse().read().decode()


def raw(port, text):
    """Say something to the proxy."""
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    with socket.create_connection((proxy.hostname, proxy.port), 30) as connection:
        connection.sendall(text.encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _, body = answer.decode().partition("\r\n\r\n")
    if " 200 " not in head:
        raise OSError(head)
    return body


def hold(size, shared=False):
    """Take so many bytes of memory, and use them."""
    taken = mmap.mmap(-1, size, flags=mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, size, 4096):
        taken[place] = 1
    HELD.append(taken)
    return size


def capabilities():
    """Those in effect, permitted and inheritable, in two halves."""
    found = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(0x20080522, 0), found)
    return list(found)


def hold_after_its_writer(size):
    """Keep pages that another process has written, and has left: they are nobody's in particular."""
    taken = mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    HELD.append(taken)
    writer = os.fork()
    if writer == 0:
        for place in range(0, size, 4096):
            taken[place] = 1
        os._exit(0)
    os.waitpid(writer, 0)


def descriptors():
    """What it has inherited, without asking /proc."""
    return [number for number in range(1024) if _is_open(number)]


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def attempt(expression):
    try:
        value = eval(expression)
    except Exception as error:
        return f"refused: {type(error).__name__}: {error}"
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return repr(value)


def serve():
    from mcp.server.mcpserver import MCPServer  # the interpreter that only tries may not have it

    server = MCPServer("hostile")

    @server.tool(name="attempt")
    def attempt_for_client(code: str) -> str:
        """Try a piece of Python."""
        try:
            return f"done: {eval(code, globals())!r}"
        except BaseException as error:
            return f"{type(error).__name__}: {error}"

    server.run()


if len(sys.argv) > 1:
    print(json.dumps({name: attempt(expression) for name, expression in json.loads(sys.argv[1]).items()}))
else:
    serve()
