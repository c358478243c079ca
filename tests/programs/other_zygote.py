"""A zygote on another system: one that lacks a layer of confinement, or where kernels cannot start."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys


def main(control: socket.socket, scratch: str, system: str) -> None:
    missing = ["landlock"] if system == "lacking" else []
    kernels: list[int] = []
    try:
        tell(control, {"missing": missing}, [])
        while request := control.recv(65536):
            for _ in range(json.loads(request)["fork"]):
                fork(control, kernels, scratch, system)
    except OSError:
        pass  # the server went away
    for pid in kernels:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fork(control: socket.socket, kernels: list[int], scratch: str, system: str) -> None:
    number = len(kernels) + 1
    os.mkdir(os.path.join(scratch, str(number)))
    ours, theirs = socket.socketpair()
    output, dump = os.memfd_create("output"), os.memfd_create("dump")
    pid = os.fork()
    if pid == 0:
        ours.close()
        live(theirs, output, system)
    kernels.append(pid)
    tell(control, {"kernel": number, "pid": pid}, [ours.fileno(), os.pidfd_open(pid), output, dump])
    if system == "stillborn":
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        tell(control, {"ended": number, "status": 70 << 8}, [])


def tell(control: socket.socket, message: dict[str, object], fds: list[int]) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], fds)


def live(server: socket.socket, output: int, system: str) -> None:
    if system == "stillborn":
        os.write(output, b"MemoryError: no room to live")
        os._exit(70)
    failed = ["landlock: Operation not permitted"] if system == "failing" else []
    ready = json.dumps({"op": "ready", "layers": ["seccomp"], "failed": failed}).encode()
    server.sendall(struct.pack("!I", len(ready)) + ready)
    signal.pause()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3])
