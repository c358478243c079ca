"""A zygote on another system: one that lacks a layer of confinement, whose layers do nothing, or where kernels die."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

FAILURE = "landlock: Operation not permitted"


def main(control: socket.socket, scratch: str, system: str) -> None:
    missing = ["landlock"] if system == "lacking" else []
    kernels: list[int] = []
    try:
        if system == "bare":
            tell(control, {"refused": "wasmtime is not installed", "install": "[wasm]"}, [])
            control.recv(1)
            return
        if system == "compiling":
            tell(control, {"compiling": True}, [])
        tell(control, {"missing": missing}, [])
        while request := control.recv(65536):
            asked = json.loads(request)
            for _ in range(asked.get("fork", 0)):
                fork(control, kernels, scratch, system)
            if "probe" in asked:
                fork(control, kernels, scratch, system, probe=True)
    except OSError:
        pass  # the server went away
    for pid in filter(None, kernels):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fork(control: socket.socket, kernels: list[int], scratch: str, system: str, *, probe: bool = False) -> None:
    number = len(kernels) + 1
    if is_stillborn(system, scratch):
        print("MemoryError: no room to live", flush=True)
        kernels.append(0)
        tell(control, {"ended": number, "status": 70 << 8, "probe": probe, "folder": str(number), "unused": False}, [])
        return
    os.mkdir(os.path.join(scratch, str(number)))
    folder = os.open(os.path.join(scratch, str(number)), os.O_PATH)
    ours, theirs = socket.socketpair()
    output, dump = os.memfd_create("output"), os.memfd_create("dump")
    pid = os.fork()
    if pid == 0:
        ours.close()
        live(theirs, system, probe=probe)
    kernels.append(pid)
    failed = [FAILURE] if system == "failing" else []
    announced = {"kernel": number, "pid": pid, "probe": probe, "folder": str(number), "sized": False}
    announced |= {"layers": ["seccomp"], "failed": failed}
    tell(control, announced, [ours.fileno(), os.pidfd_open(pid), output, dump, folder])


def tell(control: socket.socket, message: dict[str, object], fds: list[int]) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], fds)


def is_stillborn(system: str, scratch: str) -> bool:
    """A sickly system is well as soon as somebody heals it."""
    return system == "stillborn" or (system == "sickly" and not os.path.exists(f"{scratch}/../healed"))


def live(server: socket.socket, system: str, *, probe: bool) -> None:
    if system == "failing late":
        say(server, {"op": "unconfined", "failed": [FAILURE]})
    elif probe:
        say(server, {"op": "probed", "broken": ["truncate a file", "fork"] if system == "leaky" else []})
    signal.pause()


def say(server: socket.socket, message: dict[str, object]) -> None:
    data = json.dumps(message).encode()
    server.sendall(struct.pack("!I", len(data)) + data)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3])
