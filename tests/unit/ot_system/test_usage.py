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

from ot_system.linux import measure_nameless, usage_of

MIB = 1024**2
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def measure(pid: int) -> tuple[int, int]:
    found = usage_of(pid)
    assert found is not None
    return found


def measure_files(folder: Path) -> int:
    return measure_nameless(os.getpid(), str(folder), 64 * MIB)[0]


def map_page(fd: int) -> int:
    """Map a page of a file, and nothing else: Python's own mmap keeps a descriptor."""
    arguments = (None, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    address: int = LIBC.mmap(*arguments)
    assert address != 2**64 - 1
    return address


def test_memory_is_counted_when_it_is_touched() -> None:
    before = measure(os.getpid())
    touched = bytearray(os.urandom(1)) * (64 * MIB)
    after = measure(os.getpid())

    assert before[0] > MIB
    assert after[0] - before[0] > len(touched) * 0.9


def test_threads_are_counted() -> None:
    before, end = measure(os.getpid()), threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    after = measure(os.getpid())
    end.set()
    for thread in threads:
        thread.join()

    assert after[1] - before[1] == 5


def test_a_process_that_has_ended_takes_nothing_until_it_is_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

    assert measure(ended.pid)[0] == 0
    ended.wait()
    with pytest.raises(FileNotFoundError):
        measure(ended.pid)


def test_a_file_without_a_name_is_counted_as_long_as_it_is_open_or_mapped(tmp_path: Path) -> None:
    before = measure_files(tmp_path)
    with (tmp_path / "named").open("wb") as named, (tmp_path / "nameless").open("w+b") as nameless:
        for file in (named, nameless):
            file.write(b"x" * 3 * MIB)
            file.flush()
        (tmp_path / "nameless").unlink()
        opened = measure_files(tmp_path) - before
        address = map_page(nameless.fileno())
        both = measure_files(tmp_path) - before
    only_mapped = measure_files(tmp_path) - before
    elsewhere = measure_files(tmp_path / "other") - before
    LIBC.munmap(address, mmap.PAGESIZE)

    assert 3 * MIB <= opened < 4 * MIB
    assert both == opened
    assert only_mapped == 64 * MIB  # how large it is cannot be seen
    assert elsewhere == 0  # a library that was updated under a running server is nobody's scratch file
    assert measure_files(tmp_path) == before
