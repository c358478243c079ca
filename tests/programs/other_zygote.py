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
    socket.send_fds(control, [json.dumps({"missing": missing}).encode()], [])
    number = 0
    while request := control.recv(65536):
        for _ in range(json.loads(request)["fork"]):
            number += 1
            os.mkdir(os.path.join(scratch, str(number)))
            fork(control, number, system)


def fork(control: socket.socket, number: int, system: str) -> None:
    ours, theirs = socket.socketpair()
    output, dump = os.memfd_create("output"), os.memfd_create("dump")
    pid = os.fork()
    if pid == 0:
        ours.close()
        live(theirs, output, system)
    pidfd = os.pidfd_open(pid)
    socket.send_fds(
        control, [json.dumps({"kernel": number, "pid": pid}).encode()], [ours.fileno(), pidfd, output, dump]
    )
    if system == "stillborn":
        status = os.waitpid(pid, 0)[1]
        socket.send_fds(control, [json.dumps({"ended": number, "status": status}).encode()], [])


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
