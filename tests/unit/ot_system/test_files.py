"""Files, folders and the bell of threads, in both ways."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from ot_system import linux


def test_a_memory_file_is_read_and_written_and_has_no_name(
    system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    file = system.memory_file("sample")
    os.pwrite(file, b"content", 3)

    assert os.pread(file, 100, 0) == b"\0\0\0content"
    assert list(tmp_path.iterdir()) == []
    assert not os.get_inheritable(file)
    os.close(file)


def test_a_step_leads_into_a_folder_and_shows_what_a_link_says(system: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("text")
    (tmp_path / "link").symlink_to("inner")
    here = os.open(tmp_path, os.O_RDONLY)

    inner, found = system.open_step("inner", here)
    file, of_file = system.open_step("file", inner)
    link, of_link = system.open_step("link", here)

    assert (stat.S_ISDIR(found.st_mode), stat.S_ISREG(of_file.st_mode)) == (True, True)
    assert (stat.S_ISLNK(of_link.st_mode), system.read_link(link, "link", here)) == (True, "inner")
    with pytest.raises(FileNotFoundError):
        system.open_step("nothing", here)
    for descriptor in (here, inner, file, link):
        os.close(descriptor)


def test_a_pipe_with_a_name_holds_up_no_step(system: ModuleType, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    here = os.open(tmp_path, os.O_RDONLY)

    step, found = system.open_step("pipe", here)

    assert stat.S_ISFIFO(found.st_mode)
    os.close(step)
    os.close(here)


def test_a_step_keeps_no_lock_on_its_folder(system: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    here, again = os.open(tmp_path, os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(here, fcntl.LOCK_EX)

    step, _ = system.open_step("file", here)
    os.close(here)

    fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(step)
    os.close(again)


def test_a_path_leads_to_an_open_folder(system: ModuleType, tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)

    assert Path(system.leads_to(here, str(tmp_path))).samefile(tmp_path)
    os.close(here)


def test_a_marked_file_can_be_changed(system: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    file = os.open(tmp_path / "file", system.PLACE | os.O_NOFOLLOW)

    os.chmod(system.change_target(file), 0o640)  # noqa: PTH101 - it may be a descriptor
    os.utime(system.change_target(file), ns=(1, 2_000_000_000))

    found = (tmp_path / "file").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_mtime_ns) == (0o640, 2_000_000_000)
    os.close(file)


def test_attributes_that_are_wanted_are_copied_where_that_can_be(system: ModuleType, tmp_path: Path) -> None:
    before, after = (os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in ("before", "after"))
    for name in ("user.one", "user.two"):
        os.setxattr(before, name, b"value")

    system.copy_attributes(before, after, lambda name: name == "user.one")

    assert os.listxattr(after) == (["user.one"] if system is linux else [])
    if system is linux:
        assert system.attribute_of(tmp_path / "after", "user.one") == b"value"
    with pytest.raises(OSError, match=r"No data|not supported"):
        system.attribute_of(tmp_path / "after", "user.two")
    os.close(before)
    os.close(after)


def test_nothing_is_called_unchanged_that_may_have_changed(system: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    here = os.open(tmp_path, os.O_RDONLY)
    notes = system.ChangeNotes()
    for name in (".", "inner"):
        notes.add(here, name)

    quiet = notes.is_empty()
    (tmp_path / "inner" / "file").touch()

    assert quiet == (system is linux)
    assert (notes.is_empty(), notes.works) == (False, False)
    notes.close()
    os.close(here)


def test_a_pipe_stays_a_pipe_when_it_is_enlarged(system: ModuleType) -> None:
    read, write = os.pipe()

    system.enlarge_pipe(write, 1024 * 1024)

    os.write(write, b"text")
    assert os.read(read, 10) == b"text"
    os.close(read)
    os.close(write)


def test_a_bell_wakes_the_thread_that_waits_for_it_as_often_as_it_is_rung(system: ModuleType) -> None:
    bell, heard = system.Bell(), threading.Semaphore(0)

    def listen() -> None:
        for _ in range(3):
            bell.wait()
            heard.release()

    thread = threading.Thread(target=listen)
    thread.start()
    for _ in range(3):
        bell.ring()
        assert heard.acquire(timeout=60)
    thread.join()
    bell.close()


def test_a_signal_does_not_end_the_thread_that_waits_for_a_bell(system: ModuleType) -> None:
    bell, heard = system.Bell(), threading.Semaphore(0)

    def listen() -> None:
        bell.wait()
        heard.release()

    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        thread = threading.Thread(target=listen)
        thread.start()
        for _ in range(20):
            if is_asleep(thread):
                signal.pthread_kill(thread.ident or 0, signal.SIGUSR2)
        bell.ring()

        assert heard.acquire(timeout=60)
        thread.join()
    finally:
        signal.signal(signal.SIGUSR2, before)
    bell.close()


def is_asleep(thread: threading.Thread) -> bool:
    """Wait until a thread waits for something; False if it has ended."""
    state = Path(f"/proc/self/task/{thread.native_id}/stat")
    with suppress(FileNotFoundError):
        while state.read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.001)
        return True
    return False
