"""What a process really takes, as it is seen from outside."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ot.kernel.watch import measure_nameless, measure_process

MIB = 1024**2
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def map_page(fd: int) -> int:
    """Map a page of a file, and nothing else: Python's own mmap keeps a descriptor."""
    arguments = (None, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    address: int = LIBC.mmap(*arguments)
    assert address != 2**64 - 1
    return address


def test_memory_is_counted_when_it_is_touched() -> None:
    before = measure_process(os.getpid())
    touched = bytearray(os.urandom(1)) * (64 * MIB)
    after = measure_process(os.getpid())

    assert before.memory > MIB
    assert after.memory - before.memory > len(touched) * 0.9


def test_threads_are_counted() -> None:
    before, end = measure_process(os.getpid()), threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    after = measure_process(os.getpid())
    end.set()
    for thread in threads:
        thread.join()

    assert after.threads - before.threads == 5


def test_a_process_that_has_ended_takes_nothing_until_it_is_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

    assert measure_process(ended.pid).memory == 0
    ended.wait()
    with pytest.raises(FileNotFoundError):
        measure_process(ended.pid)


def test_a_file_without_a_name_is_counted_as_long_as_it_is_open_or_mapped(tmp_path: Path) -> None:
    before = measure_nameless(os.getpid(), tmp_path, 64 * MIB).size
    with (tmp_path / "named").open("wb") as named, (tmp_path / "nameless").open("w+b") as nameless:
        for file in (named, nameless):
            file.write(b"x" * 3 * MIB)
            file.flush()
        (tmp_path / "nameless").unlink()
        opened = measure_nameless(os.getpid(), tmp_path, 64 * MIB).size - before
        address = map_page(nameless.fileno())
        both = measure_nameless(os.getpid(), tmp_path, 64 * MIB).size - before
    only_mapped = measure_nameless(os.getpid(), tmp_path, 64 * MIB).size - before
    elsewhere = measure_nameless(os.getpid(), tmp_path / "other", 64 * MIB).size - before
    LIBC.munmap(address, mmap.PAGESIZE)

    assert 3 * MIB <= opened < 4 * MIB
    assert both == opened
    assert only_mapped == 64 * MIB  # how large it is cannot be seen
    assert elsewhere == 0  # a library that was updated under a running server is nobody's scratch file
    assert measure_nameless(os.getpid(), tmp_path, 64 * MIB).size == before
