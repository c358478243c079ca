"""Loads what a zygote loads, and forks one for each request, as a child of whoever started this. Argument: a socket.

A request is the program of a zygote, with its control socket and its output; the answer is its process id.
"""

import ctypes
import fcntl
import gc
import importlib
import os
import platform
import signal
import socket
import sys

CLONE_PARENT = 0x8000
CLONE = {"aarch64": 220, "x86_64": 56}
CONTROL = 60  # the descriptor that the program of each zygote names
C = ctypes.PyDLL(None)  # which keeps the lock of the interpreter


def fork_sibling():
    """Fork as `os.fork` does, but a child of our parent, who can wait for it."""
    C.PyOS_BeforeFork()
    pid = C.syscall(CLONE[platform.machine()], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        C.PyOS_AfterFork_Parent()
    else:
        C.PyOS_AfterFork_Child()
    return pid


for name in sys.argv[2:]:
    importlib.import_module(name)
gc.collect()
gc.freeze()
requests = socket.socket(fileno=int(sys.argv[1]))
while True:
    program, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 2)
    if not program:
        break
    control, output = descriptors
    pid = fork_sibling()
    if pid == 0:
        os.setsid()
        requests.close()
        os.dup2(output, 1)
        os.dup2(output, 2)
        fcntl.fcntl(control, fcntl.F_DUPFD, CONTROL)
        os.close(control)
        os.close(output)
        break
    os.close(control)
    os.close(output)
    requests.send(str(pid).encode())
if program:
    sys.argv[:] = ["-c"]
    exec(program.decode(), {"__name__": "__main__", "__builtins__": __builtins__})
