"""The guardian: a small process above another one, its child. Nothing that the child started outlives it.

It does nothing but wait, so it is there when the child hangs in C code, is killed, or has children in sessions of
their own: orphans below it become its children. It ends everything
- when the child ends;
- at once on SIGTERM, which is how the server kills what it has started;
- when nobody can write to its stdin any more, which is how the end of the server looks, SIGKILL included.
  The child sees the same, and has some seconds to end by itself. After them its group gets SIGTERM, and has as many
  seconds again. Nobody waits for that: a guardian outlives its server.
"""

from __future__ import annotations

import os
import select
import sys
import time

from ot_guardian.ledger import VARIABLE, Ledger, inherit_ledger
from ot_guardian.processes import let_go_of
from ot_system import GLANCE, adopt_orphans, kill_below

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from ot_confinement.confine import Confine
    from ot_guardian.bounds import Bounds
else:
    import _signal as signal  # its enumerations take as long to build as an interpreter to start

GRACE = 2.0  # seconds
_SIGNALS = (signal.SIGTERM, signal.SIGCHLD)
_MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
STANDBY = "standby"
_LEDGER_SHARED = "shared"
_WITHIN = "within:"  # in the place of bounds, before a descriptor: the process is guarded, and within them


def guarded(
    command: Sequence[str], *, stdin: int = 0, share_ledger: bool = False, confine: Confine | None = None
) -> list[str]:
    """The command that starts a program below a guardian, on this interpreter, within its bounds if it has any.

    `stdin` is an inherited descriptor that the program reads in place of the guardian's stdin, which may then be of
    any kind. The program inherits nothing of the guardian's, unless it is to write into the ledger too, and what is
    set for Python in its environment does not reach the guardian.
    """
    ledger = _LEDGER_SHARED if share_ledger else "kept"
    bounds = confine.to_text() if confine is not None else ""
    return [sys.executable, "-I", "-S", _MAIN, ledger, str(stdin), bounds, *command]


def standby_words(control: int) -> list[str]:
    """The command that starts a standby for programs, which takes orders on an inherited socket."""
    return [sys.executable, "-I", "-S", "-X", "utf8", _MAIN, STANDBY, str(control)]


def main(words: list[str]) -> None:
    """Become the guardian of a program; the words are those that `guarded` has put after the file."""
    ledger, stdin, bounds, *command = words
    guarded_now = divide(inherit_ledger(share=ledger == _LEDGER_SHARED), confine=bounds, command=command)
    if stdin != "0":
        os.dup2(int(stdin), 0)
        os.close(int(stdin))
    os.read(guarded_now, 1)
    become(command)


def divide(ledger: Ledger, *, grace: float = GRACE, confine: str = "", command: list[str] | None = None) -> int:
    """Fork: this process becomes the guardian and never returns, its child goes on in a session of its own.

    The child gets a descriptor that ends as soon as it is guarded, and when the server is gone `grace` seconds to end
    by itself, and as many after SIGTERM.
    `confine` is a Confine as text, within which the child goes on. `command` is what it is about to become; where the
    system confines only what it starts, it gets the words before it that do so. Without one, the child begins again.
    """
    if confine.startswith(_WITHIN):
        return int(confine[len(_WITHIN) :])  # the child of another process like this, which it has begun again as
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    bounds: Bounds | None = None
    if confine:
        from ot_guardian.bounds import set_bounds  # noqa: PLC0415 - most children are not confined

        bounds = set_bounds(confine, ledger)
    guarded_now, announcement = os.pipe()
    child = os.fork()
    if child:
        os.close(guarded_now)
        _Guard(child, ledger, grace, bounds).stand(announcement)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    os.close(announcement)
    os.setsid()
    before = bounds.enter(ledger) if bounds is not None else []
    if before and command is None:
        _begin_again(before, confine, ledger, guarded_now)
    if before and command is not None:
        _require_program(command[0])
        command[:0] = before
    return guarded_now


def _begin_again(before: list[str], confine: str, ledger: Ledger, guarded_now: int) -> None:
    """Execute this process again, within its bounds; never returns."""
    words = getattr(sys, "orig_argv", None)
    if words is None:
        ledger.explain("cannot be confined: on this system that needs Python 3.10 or newer")
        os._exit(126)
    os.environ[VARIABLE] = str(ledger.descriptor)
    for descriptor in (ledger.descriptor, guarded_now):
        os.set_inheritable(descriptor, True)
    within = (f"{_WITHIN}{guarded_now}" if word == confine else word for word in words[1:])
    os.execv(before[0], [*before, sys.executable, *within])


def _require_program(name: str) -> None:
    """End this process, as `become` does, if a program is not there: what stands before it would say something else."""
    places = [name] if "/" in name else [f"{folder}/{name}" for folder in os.get_exec_path()]
    if not any(map(os.path.exists, places)):
        os.write(2, f"not found: {name}\n".encode())
        os._exit(127)


def become(command: list[str]) -> None:
    """Execute a program in the place of this one; never returns."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and other programs would inherit that
    try:
        os.execvp(command[0], command)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        if missing and not ("/" in command[0] and os.path.exists(command[0])):
            os.write(2, f"not found: {command[0]}\n".encode())
            os._exit(127)
        reason = "its interpreter was not found" if missing else error.strerror
        os.write(2, f"{command[0]} cannot be started: {reason}\n".encode())
        os._exit(126)


class _Guard:
    def __init__(self, child: int, ledger: Ledger, grace: float, bounds: Bounds | None) -> None:
        self._child = child
        self._parent = os.getppid()
        self._bounds = bounds
        self._ledger = ledger
        self._grace = grace  # seconds
        self._status: int | None = None  # of the child, once it has ended

    def stand(self, announcement: int) -> None:
        """Wait for a reason to end everything, do so, and exit with the child's status."""
        signals = _signals_as_descriptor()
        adopt_orphans()
        let_go_of(1, 2)
        if self._bounds is not None:
            self._bounds.let_go()
        os.close(announcement)
        self._wait(signals)
        left = True
        while left:  # kill all children, and theirs as they are adopted, until there are none
            kill_below(self._child, self._known())
            left = self._reap(0)
        if self._bounds is not None:
            self._bounds.clear()
        os._exit(exit_code(self._status))

    def _known(self) -> list[int]:
        """List the children that this process has forked itself, and not collected."""
        found = [self._child] if self._status is None else []
        return found if self._bounds is None or self._bounds.proxy is None else [*found, self._bounds.proxy]

    def _wait(self, signals: int) -> None:
        poll = select.poll()
        poll.register(signals, select.POLLIN)
        poll.register(0, select.POLLHUP)  # reports only that the other end is gone
        deadline: float | None = None
        asked = self._grace == 0
        while True:
            events = poll.poll(self._patience(deadline))
            if deadline is not None and time.monotonic() >= deadline:
                if asked or not _ask_to_end(self._child):
                    return
                asked, deadline = True, time.monotonic() + self._grace
            if self._bounds is not None and (excess := self._bounds.excess()):
                self._ledger.explain(excess)
                return
            for descriptor, _ in events:
                if descriptor == 0:
                    poll.unregister(0)
                    deadline = time.monotonic() + self._grace
                elif signal.SIGTERM in os.read(signals, 512):
                    return
            if deadline is None and GLANCE is not None and os.getppid() != self._parent:
                deadline = time.monotonic() + self._grace
            self._reap(os.WNOHANG)
            if self._status is not None:
                return

    def _patience(self, deadline: float | None) -> float | None:
        """Return the milliseconds until the next look at the clock, at the memory, or for the parent."""
        limits = [] if deadline is None else [max(0.0, deadline - time.monotonic())]
        if self._bounds is not None and self._bounds.memory is not None:
            limits.append(self._bounds.interval)
        if GLANCE is not None:
            limits.append(GLANCE)
        return min(limits) * 1000 if limits else None

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


def _ask_to_end(group: int) -> bool:
    try:
        os.killpg(group, signal.SIGTERM)
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


def exit_code(status: int | None) -> int:
    """Return the exit code for a status of waitpid: above 128 for a signal, 0 if there is none."""
    if status is None:
        return 0
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
