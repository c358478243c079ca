"""A process that forks others when it is asked, seen from the server: how it is started, and what it answers.

The zygote forks kernels (`ot.kernel.zygote_process`), a standby forks guardians (`ot.processes.standby`). Each has a
control socket, and ends when the server closes its end of it.
"""

from __future__ import annotations

import array
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence


def launch_fork_server(
    command: Callable[[int], Sequence[str]],
    *,
    environ: Mapping[str, str],
    output: int = subprocess.DEVNULL,
    cwd: str | None = None,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start one and return its process with our end of its control socket; `command` gets the descriptor of its end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with theirs:
            process = subprocess.Popen(
                command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                env=environ,
                cwd=cwd,
                start_new_session=True,  # a Ctrl-C in the terminal is for the server, which ends it in order
            )
    except BaseException:
        ours.close()
        raise
    ours.setblocking(False)
    return process, ours


def receive(control: socket.socket, size: int, *, most: int) -> tuple[bytes, list[int]]:
    """Receive one message and its descriptors, which child processes do not inherit; raises OSError."""
    fds = array.array("i")
    data, ancillary, _, _ = control.recvmsg(size, socket.CMSG_SPACE(most * fds.itemsize), socket.MSG_CMSG_CLOEXEC)
    for _, _, content in ancillary:
        fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, list(fds)
