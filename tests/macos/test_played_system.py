"""What the tests here stand on: the system that they play has nothing of Linux that macOS lacks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.macos.mac import Mac

LOOK = """
import asyncio, errno, json, os, platform, resource, select, signal, socket, sys

def fails(step):
    try:
        step()
    except OSError as error:
        return errno.errorcode[error.errno]

resource.setrlimit(resource.RLIMIT_DATA, (1000, 1000))
told = {
    "platform": [sys.platform, platform.system(), os.uname().sysname, os.name],
    "linux": [
        name for module in (os, select, signal, socket)
        for name in ("O_PATH", "pidfd_open", "memfd_create", "eventfd", "epoll", "pidfd_send_signal", "SO_PEERCRED")
        if hasattr(module, name)
    ],
    "folders": [os.listdir(name) for name in ("/proc", "/sys", "/dev/shm")],
    "packets": fails(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)),
    "a long address": fails(lambda: socket.socket(socket.AF_UNIX).bind("/tmp/" + "x" * 102)),
    "memory": len(bytearray(10**8)),
    "a loop": asyncio.run(asyncio.sleep(0, "turned")),
}
print(json.dumps(told))
"""


def test_a_mac_is_played(mac: Mac, tmp_path: Path) -> None:
    expected = {
        "platform": ["darwin", "Darwin", "Darwin", "posix"],
        "linux": [],
        "folders": [[], [], []],
        "packets": "EPROTONOSUPPORT",
        "a long address": "EINVAL",
        "memory": 10**8,
        "a loop": "turned",
    }

    bare = mac.run("python", "-I", "-S", "-c", LOOK, home=tmp_path)

    assert (json.loads(bare.stdout), bare.stderr) == (expected, "")
