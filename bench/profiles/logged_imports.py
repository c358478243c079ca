"""Runs `onetool` and writes down each import: `python -m bench.profiles.logged_imports FILE serve`.

A line has the module, the nanoseconds of processor time that it took by itself and with what it imported, and when it
was there. `-X importtime` would mix up modules that several threads import at once, and counts waiting as work.
"""

from __future__ import annotations

import _frozen_importlib
import os
import runpy
import sys
import time
from _thread import _local as thread_local
from collections.abc import Callable
from types import ModuleType

INTERPRETER = "(interpreter)"


def log_imports(file: int) -> None:
    """Log from now on; what the interpreter took until then is the first line."""
    load: Callable[[str, object], ModuleType] = getattr(_frozen_importlib, "_find_and_load")  # noqa: B009 - not public
    local = thread_local()

    def write(name: str, own: int, whole: int) -> None:
        os.write(file, f"{name}\t{own}\t{whole}\t{time.monotonic_ns()}\n".encode())

    def load_timed(name: str, import_: object) -> ModuleType:
        outer: int = getattr(local, "nested", 0)
        local.nested = 0
        begin = time.thread_time_ns()
        try:
            return load(name, import_)
        finally:
            whole = time.thread_time_ns() - begin
            if name in sys.modules:
                write(name, whole - local.nested, whole)
            local.nested = outer + whole

    started = time.process_time_ns()
    write(INTERPRETER, started, started)
    setattr(_frozen_importlib, "_find_and_load", load_timed)  # noqa: B010 - the interpreter looks it up for each import


if __name__ == "__main__":
    log_imports(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    sys.argv[:] = ["onetool", *sys.argv[2:]]
    runpy.run_module("onetool", run_name="__main__", alter_sys=True)
