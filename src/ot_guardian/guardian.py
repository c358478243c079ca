"""The guardian: a small process above another one, its child. Nothing that the child started outlives it.

It does nothing but wait, so it is there when the child hangs in C code, is killed, or has children in sessions of
their own: orphans below it become its children. It ends everything
- when the child ends;
- at once on SIGTERM, which is how the server kills what it has started;
- when nobody can write to its stdin any more, which is how the end of the server looks, SIGKILL included.
  The child sees the same, and has some seconds to end by itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from ot_guardian.ledger import Ledger, inherit_ledger

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

GRACE = 2.0  # seconds
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = (signal.SIGTERM, signal.SIGCHLD)
_LEDGER_SHARED = "shared"
_LEDGER_KEPT = "kept"


def guarded(command: Sequence[str], *, stdin: int = 0, share_ledger: bool = False) -> list[str]:
    """The command that starts a program below a guardian, on this interpreter.

    `stdin` is an inherited descriptor that the program reads in place of the guardian's stdin, which may then be of
    any kind. The program inherits nothing of the guardian's, unless it is to write into the ledger too, and what is
    set for Python in its environment does not reach the guardian.
    """
    main_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
    options = [_LEDGER_SHARED if share_ledger else _LEDGER_KEPT, str(stdin)]
    return [sys.executable, "-I", "-S", main_file, *options, *command]


def main(words: list[str]) -> None:
    """Become the guardian of a program; the words are those that `guarded` has put after the file."""
    ledger, stdin, *command = words
    guarded_now = divide(inherit_ledger(share=ledger == _LEDGER_SHARED))
    if stdin != "0":
        os.dup2(int(stdin), 0)
        os.close(int(stdin))
    os.read(guarded_now, 1)
    _become(command)


def divide(ledger: Ledger, *, grace: float = GRACE) -> int:
    """Fork: this process becomes the guardian and never returns, its child goes on in a session of its own.

    The child gets a descriptor that ends as soon as it is guarded, and `grace` seconds when the server is gone.
    """
    guarded_now, announcement = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = os.fork()
    if child:
        os.close(guarded_now)
        _Guard(child, ledger, grace).stand(announcement)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    os.close(announcement)
    os.setsid()
    return guarded_now


def _become(command: list[str]) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and other programs would inherit that
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
        os._exit(127)


class _Guard:
    def __init__(self, child: int, ledger: Ledger, grace: float) -> None:
        self._child = child
        self._ledger = ledger
        self._grace = grace  # seconds
        self._status: int | None = None  # of the child, once it has ended

    def stand(self, announcement: int) -> None:
        """Wait for a reason to end everything, do so, and exit with the child's status."""
        signals = _signals_as_descriptor()
        adopt_orphans()
        _let_go_of_output()
        os.close(announcement)
        self._wait(signals)
        self._end_all()
        os._exit(_exit_code(self._status))

    def _wait(self, signals: int) -> None:
        poll = select.poll()
        poll.register(signals, select.POLLIN)
        poll.register(0, 0)  # reports only that the other end is gone
        deadline: float | None = None
        while True:
            events = poll.poll(None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000)
            if not events:
                return
            for descriptor, _ in events:
                if descriptor == 0:
                    poll.unregister(0)
                    deadline = time.monotonic() + self._grace
                elif signal.SIGTERM in os.read(signals, 512):
                    return
            self._reap(os.WNOHANG)
            if self._status is not None:
                return

    def _reap(self, options: int) -> bool:
        """Collect children that have ended; False if there are none left."""
        try:
            while True:
                pid, status = os.waitpid(-1, options)
                if pid == 0:
                    return True
                if pid == self._child:
                    self._status = status
                    self._ledger.end(status)
                options = os.WNOHANG
        except ChildProcessError:
            return False

    def _end_all(self) -> None:
        """Kill all children, and theirs as they are adopted, until there are none."""
        left = True
        while left:
            for pid in _children():
                _kill(pid)
            left = self._reap(0)


def end_children(keep: Container[int]) -> None:
    """Kill all children of this process but these, and theirs as they are adopted; for a process with one thread."""
    immune: set[int] = set()
    while children := [pid for pid in _children() if pid not in keep and pid not in immune]:
        for pid in children:
            if _kill(pid):
                os.waitpid(pid, 0)
            else:
                immune.add(pid)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
        return [int(pid) for pid in file.read().split()]


def _kill(pid: int) -> bool:
    """Kill a child, which cannot lose its number before it is reaped; False if it has become another user's."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def _signals_as_descriptor() -> int:
    """Deliver both signals as bytes on a pipe, so that one poll waits for everything."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return read


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have this process killed when its parent ends; for the child of a guardian, which may be killed itself."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    import ctypes  # noqa: PLC0415 - here the worker is already on its way

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _let_go_of_output() -> None:
    """Close the output, so that it ends when the child ends it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _exit_code(status: int | None) -> int:
    if status is None:
        return 0
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
