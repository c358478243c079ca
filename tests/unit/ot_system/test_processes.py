"""Processes: the handle on one, its end with its parent, and the end of what is below it; in both ways."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ot_system

SOURCES = str(Path(ot_system.__file__).parents[1])
WAITS = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as waiting:
        yield waiting
        waiting.kill()


def has_ended(handle: int, *, within: float = 0) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(within * 1e3))


def run(system: ModuleType, program: str) -> str:
    """Run a program with `system` and `os` in a process of its own; returns what it prints."""
    start = f"import os, select, signal, subprocess, sys, time\nsys.path.append({SOURCES!r})\n"
    start += f"import {system.__name__} as system\n"
    done = subprocess.run([sys.executable, "-S", "-c", start + program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def test_both_ways_offer_the_same(system: ModuleType) -> None:
    assert [name for name in ot_system.__all__ if not hasattr(system, name)] == []


def test_a_handle_tells_of_the_end_of_a_process(system: ModuleType, process: subprocess.Popen[bytes]) -> None:
    handle = system.watch_process(process)
    before = has_ended(handle)
    process.kill()

    assert not before
    assert has_ended(handle, within=60)
    os.close(handle)


def test_a_signal_reaches_the_process_and_nobody_after_its_end(
    system: ModuleType, process: subprocess.Popen[bytes]
) -> None:
    handle = system.watch_process(process)
    system.signal_process(process.pid, handle, signal.SIGTERM)

    assert has_ended(handle, within=60)
    assert process.wait() == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        system.signal_process(os.getpid(), handle, signal.SIGKILL)  # our number stands for one that got it later
    os.close(handle)


def test_an_end_is_waited_for_so_long(system: ModuleType, process: subprocess.Popen[bytes]) -> None:
    assert not system.wait_for_end(process, 0.01)
    process.kill()
    assert system.wait_for_end(process, 60)


def test_a_forked_process_has_a_handle_and_its_own_children_do_not_hold_it(system: ModuleType) -> None:
    told = run(
        system,
        """
go, told = os.pipe(), os.pipe()
with system.ChildWatch() as watch:
    pid = os.fork()
    if pid == 0:
        own = system.own_handle()
        if os.fork() == 0:
            os.read(go[0], 1)  # it outlives its parent
            os._exit(0)
        os.dup2(own, 100)
        system.close_from(101, 200)
        os.write(told[1], b'.')
        signal.pause()
    handle = watch.open(pid)
os.read(told[0], 1)
before = select.select([handle], [], [], 0)[0] == []
system.signal_process(pid, handle, signal.SIGKILL)
print(before, select.select([handle], [], [], 60)[0] == [handle], os.waitpid(pid, 0)[1])
os.write(go[1], b'.')
""",
    )

    assert told == "True True 9\n"


def test_what_was_handed_on_is_closed_once_it_has_arrived_and_elsewhere_not_before(system: ModuleType) -> None:
    told = run(
        system,
        """
read, write = os.pipe()
question, answer = os.pipe()
child = os.fork()
if child == 0:
    os.dup2(write, 100)
    os.close(write)
    os.dup2(question, 50)
    system.close_from(60, 200, [100], answer=50)
    signal.pause()
os.close(write)
early = select.select([read], [], [], 0.05)[0] == [read]
os.write(answer, b'.')
print(early and system.GLANCE is not None, select.select([read], [], [], 60)[0] == [read])
os.kill(child, signal.SIGKILL)
""",
    )

    assert told == "False True\n"


def test_a_fork_that_fails_leaves_no_descriptor(system: ModuleType) -> None:
    before = system.count_descriptors()
    with pytest.raises(OSError, match="no more"), system.ChildWatch():
        raise OSError("no more")

    assert system.count_descriptors() == before


def test_a_process_ends_with_its_parent_even_while_it_computes(system: ModuleType) -> None:
    told = run(
        system,
        """
alive, held = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        system.end_with_parent(parent)
        os.write(held, b'.')
        while True:
            pass
    os.read(alive, 1)
    os._exit(0)
os.close(held)
os.wait()
print(select.select([alive], [], [], 60)[0] == [alive], os.read(alive, 1))
""",
    )

    assert told == "True b''\n"


def test_a_process_whose_parent_has_ended_already_ends_at_once(system: ModuleType) -> None:
    assert run(system, "system.end_with_parent(os.getppid() + 1)\nprint('goes on')") == ""


def test_signals_are_left_to_the_thread_that_waits_for_them(system: ModuleType) -> None:
    told = run(
        system,
        """
def wake(*_):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    raise TimeoutError
signal.signal(signal.SIGUSR1, wake)
parent = os.getpid()
begun, begin = os.pipe()
try:
    if os.fork() == 0:  # before there is a second thread: Python advises against it afterwards
        os.read(begun, 1)
        while os.getppid() == parent:
            os.kill(parent, signal.SIGUSR1)
            time.sleep(0.01)
        os._exit(0)
    system.end_with_parent(os.getppid())
    os.write(begin, b'.')
    time.sleep(60)
except TimeoutError:
    print('woken')
""",
    )

    assert told == "woken\n"


def test_everything_below_is_ended_also_what_the_child_has_left_behind(system: ModuleType) -> None:
    told = run(
        system,
        """
system.adopt_orphans()
alive, held = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(held, b'.')
        signal.pause()
    os._exit(0)
os.close(held)
os.read(alive, 1)
os.waitpid(child, 0)
system.kill_below(child, [])
print(os.read(alive, 1))
""",
    )

    assert told == "b''\n"


def test_a_child_is_ended_that_has_made_no_group_yet(system: ModuleType) -> None:
    told = run(
        system,
        """
child = os.fork()
if child == 0:
    signal.pause()
system.kill_below(child, [child])
print(os.waitpid(child, 0)[1])
""",
    )

    assert told == "9\n"


def test_a_child_is_noticed_whether_it_lives_or_not(system: ModuleType) -> None:
    told = run(
        system,
        """
print(system.has_children())
child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)
print(system.has_children())
child.kill()
child.stdin.close()
select.select([], [], [], 0)
print(system.has_children())
""",
    )

    assert told == "False\nTrue\nTrue\n"


def test_what_the_system_does_not_tell_is_unknown_and_what_is_gone_is_an_error(system: ModuleType) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass

    assert system.usage_of(os.getpid()) is None or system.usage_of(os.getpid())[0] > 0
    with pytest.raises(OSError, match=r"No such (process|file)"):
        system.usage_of(gone.pid)
    assert system.private_memory_of(gone.pid) == 0
    assert system.count_threads() >= 1
    assert system.children_of(gone.pid) == []
