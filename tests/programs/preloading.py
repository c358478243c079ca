"""Loads our programs and forks for each that is wanted, until stdin ends. Arguments: a socket, more modules to load.

A connection gives the arguments, folder and environment of one program, and its streams; it is told the program's
process id and, at the end, its status. A connection that ends first ends its program.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from pathlib import Path

from ot.services.trusted_roots import trusted_roots

MAIN = {"onetool": "onetool.__main__", "mcp-guide": "mcp_guide.main", "zwave-mcp": "zwave_mcp.main"}
COMMANDS = (
    "accept",
    "audit",
    "call",
    "check",
    "completion",
    "connect",
    "dashboard",
    "doctor",
    "fetch",
    "help",
    "import_",
    "init",
    "keys",
    "listen",
    "logs",
    "new",
    "results",
    "run",
    "running",
    "sdk_path",
    "serve",
    "skills",
    "stats",
    "tools",
    "trust",
)
LOADED = (
    *(f"onetool.cli.{name}" for name in COMMANDS),
    *(
        "onetool.http.server",
        "onetool.front.late_app",
        "onetool.front.server",
        "ot.app",
        "ot.proxy.connections.connection",
    ),
    *("mcp_guide.server", "zwave_mcp.server"),
    # What each of them would load for itself as soon as it is asked for something.
    *("anyio._backends._asyncio", "fastjsonschema", "httpcore2", "onetool.control.answering", "rich.console"),
    *("rich.logging", "sqlite3", "onetool.replicas.replicas", "ot.store.postgres.journal", "uvicorn.lifespan.on"),
)


class Forking:
    def __init__(self, listener):
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.start)
        self.selector.register(0, selectors.EVENT_READ, lambda _: sys.exit())
        self.running = {}  # of a connection, its process

    def serve(self):
        """Return in each forked process, with what was asked of it; end with stdin."""
        try:
            while True:
                for key, _ in self.selector.select():
                    if asked := key.data(key.fileobj):
                        return asked
        except SystemExit:
            for pid in self.running.values():
                os.kill(pid, signal.SIGKILL)
            raise

    def start(self, listener):
        connection, _ = listener.accept()
        request, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not request:
            return connection.close()
        pid = os.fork()
        if pid == 0:
            connection.close()
            self.forget()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return json.loads(request)
        for stream in streams:
            os.close(stream)
        self.running[connection] = pid
        self.selector.register(connection, selectors.EVENT_READ, self.kill)
        self.selector.register(os.pidfd_open(pid), selectors.EVENT_READ, lambda end: self.finish(end, connection))
        tell(connection, pid)

    def kill(self, connection):
        self.selector.unregister(connection)
        os.kill(self.running[connection], signal.SIGKILL)

    def finish(self, end, connection):
        self.selector.unregister(end)
        os.close(end)
        if connection in self.selector.get_map():
            self.selector.unregister(connection)
        _, status = os.waitpid(self.running.pop(connection), 0)
        tell(connection, os.waitstatus_to_exitcode(status))
        connection.close()

    def forget(self):
        """Close what is the parent's."""
        for key in list(self.selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            elif key.fileobj:
                os.close(key.fileobj)
        for connection in self.running:
            connection.close()
        self.selector.close()


def tell(connection, number):
    try:
        connection.send(str(number).encode())
    except OSError:  # it does not want to know any more
        pass


def play(arguments, folder, environ):
    os.setsid()
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv, sys.path[0] = arguments, folder
    program = Path(arguments[0])
    if program.name not in MAIN:
        return runpy.run_path(arguments[0], run_name="__main__")
    return importlib.import_module(MAIN[program.name]).main()


def build_constructors():
    """Build the constructors of our dataclasses once, instead of in each program at first use."""
    for kind in [thing for thing in gc.get_objects() if isinstance(thing, type)]:
        constructor = kind.__dict__.get("__init__")
        if getattr(constructor, "__qualname__", "") == "_late_init.<locals>.initialise":
            try:
                constructor(object.__new__(kind), **{"no such field": 0})
            except TypeError:
                pass


def leave(status):
    """End as an interpreter does, but leave what was loaded to the system: to free it all took longer than the rest."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # the interpreter has words and a status for that
        sys.exit(status)
    os._exit(status)


for name in (*MAIN.values(), *LOADED, *sys.argv[2:]):
    importlib.import_module(name)
trusted_roots()  # nobody here names others in the environment
build_constructors()
gc.freeze()  # what is loaded is not looked at again when a program ends
asked = Forking(socket.socket(fileno=int(sys.argv[1]))).serve()
try:
    status = play(*asked)
except SystemExit as ended:
    if not isinstance(ended.code, int | None):
        raise
    status = ended.code
leave(status or 0)
