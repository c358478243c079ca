"""Inside of the component: stand-ins for what code expects of a system and WASI does not have."""

from __future__ import annotations

import asyncio
import asyncio.base_events
import asyncio.events
import asyncio.runners
import concurrent.futures
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

import wit_world

from ot_kernel.executing import RunInterrupted, find_line

_TIME_IS_OVER, _WHERE = 1, 2
_CHECKS = 2000  # jumps and calls of the code between two looks at what is pending
_TOOL = sys.monitoring.OPTIMIZER_ID
_EVENTS = sys.monitoring.events.JUMP | sys.monitoring.events.PY_START
_NEXT = sys.monitoring.events.INSTRUCTION

_REFUSED = (
    "chmod", "chown", "chroot", "kill", "killpg", "memfd_create", "mkfifo", "mknod", "setgid", "setuid", "utime",
)  # fmt: skip


class Interruption:
    """Looks from time to time whether the time is over, since nothing can interrupt an instance from outside."""

    def __init__(self) -> None:
        self._over = False

    def watch(self) -> None:
        """Look while code runs: at every so many jumps and calls."""
        sys.monitoring.use_tool_id(_TOOL, "onetool")
        left = _CHECKS

        def count(_code: object, _offset: int, _destination: int = 0) -> None:
            nonlocal left  # cheaper than an attribute, and this is called more often than anything else
            left -= 1
            if not left:
                left = _CHECKS
                self._look()

        for event in (sys.monitoring.events.JUMP, sys.monitoring.events.PY_START):
            sys.monitoring.register_callback(_TOOL, event, count)
        sys.monitoring.register_callback(_TOOL, _NEXT, self._end)
        sys.monitoring.set_events(_TOOL, _EVENTS)

    def _look(self) -> None:
        if self._is_over():
            # What is raised here, at a jump, would pass every `finally` of the function.
            sys.monitoring.set_events(_TOOL, _EVENTS | _NEXT)

    def _end(self, _code: object, _offset: int) -> NoReturn:
        sys.monitoring.set_events(_TOOL, _EVENTS)
        raise RunInterrupted

    def _is_over(self) -> bool:
        """Tell the line if that is wanted; True if the time is over, but once: what cleans up is left alone."""
        pending = wit_world.pending()
        if pending & _WHERE and (line := find_line(sys._getframe())):  # noqa: SLF001 - its documented name
            wit_world.at_line(line)
        if not pending & _TIME_IS_OVER or self._over:
            return False
        self._over = True
        return True

    def check(self) -> None:
        """Tell the line if that is wanted, and raise RunInterrupted if the time is over."""
        if self._is_over():
            raise RunInterrupted

    def stop(self) -> None:
        """Interrupt nothing any more."""
        sys.monitoring.set_events(_TOOL, 0)

    def sleep(self, seconds: float, /) -> None:
        if not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            wit_world.pause(left)
            self.check()


class _Lock:
    """A lock as one thread sees it: who waits for one that is held waits for its time to be over."""

    def __init__(self) -> None:
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in `threading`
        if self._held and blocking:
            time.sleep(1e9 if timeout < 0 else timeout)
        taken, self._held = not self._held, True
        return taken

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Clock:
    """A loop waits with this, where there is nothing to wait for but time."""

    def select(self, timeout: float | None = None) -> tuple[()]:
        if timeout is None:
            raise RuntimeError("the code waits for something that cannot come: a run on this engine has one thread")
        time.sleep(max(0, timeout))
        return ()

    def close(self) -> None: ...


class _Loop(asyncio.base_events.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._selector = _Clock()

    def _process_events(self, events: object) -> None: ...

    def _write_to_self(self) -> None: ...

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> Any:
        """Call it at once: there is no thread to call it on."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits it
            future.set_exception(error)
        return future


class _InTurn(concurrent.futures.Executor):
    """Calls each function when it is submitted, one after the other."""

    def __init__(
        self,
        max_workers: int | None = None,
        *_: object,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        **__: object,
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None:
            initializer(*initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed to whoever asks for the result
            future.set_exception(error)
        return future


def _refuse(*_: object, **__: object) -> NoReturn:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def _refuse_process(*_: object, **__: object) -> NoReturn:
    raise PermissionError("a run cannot start processes")


def _refuse_thread(_: threading.Thread) -> NoReturn:
    raise RuntimeError(
        "a run on the engine wasm has one thread; ot.parallel and pools of threads work one after the other"
    )


def complete_system(interruption: Interruption) -> None:
    """Put stand-ins in the place of what is missing; before anything of ours is imported that names it."""
    stand_ins: dict[str, Callable[..., object]] = {
        **dict.fromkeys(_REFUSED, _refuse),
        **dict.fromkeys(("fork", "forkpty", "system", "posix_spawn", "execv", "execve"), _refuse_process),
        "getppid": lambda: 1,
        "sched_yield": lambda: None,
        "umask": lambda _: 0o22,
    }
    for name, stand_in in stand_ins.items():
        if not hasattr(os, name):
            setattr(os, name, stand_in)
    os._exit = wit_world.exit  # the system's own knows but two statuses
    os.popen = subprocess.Popen.__init__ = _refuse_process
    time.tzset = lambda: None
    time.sleep = interruption.sleep
    threading.Thread.start = _refuse_thread
    threading.Lock = threading._allocate_lock = _Lock  # noqa: SLF001 - what its other classes use
    asyncio.events.new_event_loop = asyncio.new_event_loop = _Loop
    concurrent.futures.ThreadPoolExecutor = concurrent.futures.thread.ThreadPoolExecutor = _InTurn
