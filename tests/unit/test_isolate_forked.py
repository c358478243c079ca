"""Helpers of a module after its first one are forked, with everything imported; nothing of one call is in the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from ot.errors import ToolFailedError
from ot.isolate import IsolateHost
from ot.registry.definitions import Libraries, Touches
from tests.e2e.processes import find_descendants, find_open
from tests.opened_executor import wait_until, write_pack

PACK = """
    import os, sys, tempfile, time
    from pathlib import Path

    TEMPORARY = tempfile.gettempdir()
    MARK = os.urandom(8).hex()  # of the process that has imported this
    kept = []

    def mark():
        return MARK

    def keep(path):
        secret = Path(path).read_text()
        kept.append(secret)
        os.environ["KEPT"] = secret
        return kept

    def look(path):
        try:
            Path(path).read_text()
        except OSError as error:
            reason = error.strerror
        else:
            reason = "read"
        return [kept, "KEPT" in os.environ, reason, tempfile.gettempdir() == os.environ["TMPDIR"], os.environ["HOME"]]

    def hoard():
        return len(bytearray(2 * 1024**3))

    def hang(pid_file):
        Path(pid_file).write_text(str(os.getpid()))
        time.sleep(60)

    def use(name):
        return __import__(name).MARK

    def pretend(names):
        for name in names:
            sys.modules[name] = sys
        return MARK

    def marks():
        return {name: sys.modules[name].MARK for name in ("wanted", "unwanted", "antigravity") if name in sys.modules}
"""
LIBRARY = """
    import os, threading

    MARK = os.urandom(8).hex()
"""


@pytest.fixture
def pack(tmp_path: Path) -> str:
    return str(write_pack(tmp_path, PACK))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules for helpers, some of which are libraries of the pack."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    for name in ("wanted", "unwanted"):
        write_pack(folder, LIBRARY, name)
    write_pack(folder, f"{dedent(LIBRARY)}threading.Thread(target=threading.Event().wait, daemon=True).start()", "busy")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def within(path: Path, *others: Path) -> dict[str, Any]:
    """Bounds that no other call has, and a place to read."""
    path.mkdir()
    return {"touches": Touches(reads=(str(path), *map(str, others)))}


def of(*modules: str) -> dict[str, Any]:
    return {"libraries": Libraries("sample", modules, (), Path("none"))}


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_what_one_call_has_learned_no_other_one_finds(pack: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("milk")
    async with IsolateHost() as host:
        first = await host.run(pack, "mark", {}, touches=Touches())
        forked = await host.run(pack, "mark", {}, **within(tmp_path / "a"))
        assert forked != first
        assert await host.run(pack, "mark", {}, **within(tmp_path / "b")) == forked
        assert await host.run(pack, "keep", {"path": str(secret)}, touches=Touches(reads=("{path}",))) == ["milk"]

        found = await host.run(pack, "look", {"path": str(secret)}, **within(tmp_path / "c"))

        assert found[:4] == [[], False, "Permission denied", True]
        assert found[4] not in (os.environ["HOME"], "/nonexistent")
        (standby,) = host.standby_pids()
        held = {each.partition(":")[0] for each in find_open(standby)}
        assert held <= {"/dev/null", "socket", "anon_inode"}
        assert b"milk" not in Path(f"/proc/{standby}/environ").read_bytes()


async def test_only_the_libraries_of_a_pack_are_imported_ahead(pack: str, folder: Path, tmp_path: Path) -> None:
    async with IsolateHost() as host:
        used = {name: await host.run(pack, "use", {"name": name}, **of("wanted")) for name in ("wanted", "unwanted")}
        await host.run(pack, "pretend", {"names": ["antigravity", "wanted.__main__", "ot_packs..x", "/x"]})

        first = await host.run(pack, "marks", {}, **within(tmp_path / "a"), **of("wanted"))
        again = await host.run(pack, "marks", {}, **within(tmp_path / "b"), **of("wanted"))

        assert set(first) == {"wanted"}
        assert first["wanted"] != used["wanted"]
        assert again == first


async def test_a_library_that_starts_threads_is_imported_by_each_helper(
    pack: str, folder: Path, tmp_path: Path
) -> None:
    async with IsolateHost() as host:
        marks = [
            await host.run(pack, "use", {"name": "busy"}, **within(tmp_path / name, folder), **of("busy"))
            for name in ("a", "b", "c")
        ]

        assert len(set(marks)) == 3
        assert host.standby_pids() == []


async def test_a_forked_helper_is_held_and_ended_like_any_other(pack: str, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with IsolateHost(memory=512 * 1024**2) as host:
        await host.run(pack, "mark", {})
        with pytest.raises(ToolFailedError, match="MemoryError"):
            await host.run(pack, "hoard", {}, **within(tmp_path / "a"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run, pack, "mark", {})  # takes the idle one, so that this is forked as well:
            tasks.start_soon(host.run, pack, "hang", {"pid_file": str(pid_file)})
            await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
            assert int(pid_file.read_text()) in find_descendants(host.standby_pids()[0])
            tasks.cancel_scope.cancel()

        assert not alive(int(pid_file.read_text()))
        assert await host.run(pack, "mark", {})
        standby = host.standby_pids()[0]
    assert not alive(standby)


async def test_a_changed_pack_is_imported_anew(pack: str, tmp_path: Path) -> None:
    async with IsolateHost() as host:
        await host.run(pack, "mark", {}, **within(tmp_path / "a"))
        await host.run(pack, "mark", {}, **within(tmp_path / "b"))
        (before,) = host.standby_pids()
        Path(pack).write_text("def mark(): return 'changed'\n")

        host.forget(pack)

        for name in ("c", "d"):
            assert await host.run(pack, "mark", {}, **within(tmp_path / name)) == "changed"
        await wait_until(lambda: not alive(before))


async def test_a_pack_that_changes_while_it_is_imported_ahead_holds_nobody_up(pack: str, tmp_path: Path) -> None:
    slow = 'import os, time\nif os.environ["HOME"] == "/nonexistent": time.sleep(60)\n'  # where it is imported ahead
    Path(pack).write_text(slow + Path(pack).read_text())
    async with IsolateHost() as host:
        await host.run(pack, "mark", {}, **within(tmp_path / "a"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(host.run, pack, "mark", {}, **within(tmp_path / "b")))
            await wait_until(lambda: host.standby_pids() != [])

            host.forget(pack)


async def test_few_helpers_wait_and_a_standby_ends_when_it_is_not_used(pack: str, tmp_path: Path) -> None:
    async with IsolateHost(limit=2, idle_timeout=0.5) as host:
        for number in range(5):
            await host.run(pack, "mark", {}, **within(tmp_path / str(number)))
            assert len(host.idle_pids()) <= 2
        (standby,) = host.standby_pids()

        await wait_until(lambda: not alive(standby) and not host.idle_pids())


async def test_nothing_outlives_a_server_that_is_killed(pack: str, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = dedent(f"""
        import anyio
        from ot.isolate import IsolateHost
        from ot.registry.definitions import Touches
        async def main():
            async with IsolateHost() as host:
                await host.run({pack!r}, "mark", {{}}, touches=Touches())
                await host.run({pack!r}, "hang", {{"pid_file": {str(pid_file)!r}}})
        anyio.run(main)
    """)
    server = subprocess.Popen([sys.executable, "-c", program])
    await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
    everything = find_descendants(server.pid)
    assert int(pid_file.read_text()) in everything

    server.send_signal(signal.SIGKILL)
    server.wait()

    await wait_until(lambda: not any(map(alive, everything)))
