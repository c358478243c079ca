"""Our programs loaded once and forked for each start: tests start hundreds, and loading is most of each start.

What a test shows of the start itself (the encoding of its streams, its terminal, closed descriptors) needs a real one.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ot.kernel.zygote_process import COMPILED
from tests.measured import MEASURED
from tests.read_packs import give_definitions

_PROGRAMS = Path(__file__).parent / "programs"
_WAIT = 120.0  # seconds: a bound for a machine that is busy


def run_preloaded(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str | int = "",
    program: str = "onetool",
    also: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `onetool ...` in a process of its own; `stdin` is what it reads, or an open descriptor.

    `also` are modules that only few tests need: they are loaded beside those of all programs. To a home that has a
    configuration, what packs define is given as well.
    """
    home = Path(env["HOME"])
    if (home / ".onetool").is_dir():
        give_definitions(home)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if isinstance(stdin, str):
            given.write(stdin.encode())
            given.seek(0)
        descriptors = [stdin if isinstance(stdin, int) else given.fileno(), out.fileno(), err.fileno()]
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(_WAIT)
            connection.connect(_start(also))
            request = ([_path_of(program), *arguments], str(cwd), {COMPILED: os.environ[COMPILED], **env})
            socket.send_fds(connection, [json.dumps(request).encode()], descriptors)
            connection.recv(16)  # its process id
            status = int(connection.recv(16))
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read().decode(), err.read().decode())


def preloaded_command(program: str, *arguments: str, also: tuple[str, ...] = ()) -> list[str]:
    """A command that starts `onetool`, `mcp-guide`, `zwave-mcp` or a Python file so: it ends as they end."""
    return [sys.executable, "-I", "-S", str(_PROGRAMS / "preloaded.py"), _start(also), _path_of(program), *arguments]


def _path_of(program: str) -> str:
    return str(Path(sys.executable).parent / program)


@cache
def _start(also: tuple[str, ...]) -> str:
    """Start the process that forks, once for a worker of the tests; it ends when the worker does."""
    folder = tempfile.TemporaryDirectory(prefix="preloaded")
    address = str(Path(folder.name) / "socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with listener:
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, str(_PROGRAMS / "preloading.py"), str(listener.fileno()), *also],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **MEASURED},
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    atexit.register(folder.cleanup)
    atexit.register(process.communicate)
    return address
