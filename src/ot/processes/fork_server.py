"""A process that forks others when it is asked, seen from the server: how it is started.

The zygote forks kernels (`ot.kernel.zygote_process`), a standby forks guardians (`ot.processes.standby`). Each has a
control socket, and ends when the server closes its end of it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence

from ot_system.sockets import MessageSocket, message_pair


def launch_fork_server(
    command: Callable[[int], Sequence[str]],
    *,
    environ: Mapping[str, str],
    output: int = subprocess.DEVNULL,
    cwd: str | None = None,
) -> tuple[subprocess.Popen[bytes], MessageSocket]:
    """Start one and return its process with our end of its control socket; `command` gets the descriptor of its end."""
    ours, theirs = message_pair()
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
