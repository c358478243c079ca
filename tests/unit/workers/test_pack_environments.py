"""The libraries of built-in packs: in the server's interpreter, or in an environment that uv makes from a pinned list."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import anyio
import pytest
from anyio import fail_after

from ot.errors import PackNotReadyError, ToolError, ToolFailedError
from ot.execution.wording import word_error
from ot.workers.pack_environments import KEPT_DAYS, READY, find_environment, find_unused, make_environment
from tests.library_shop import NAMES, LibraryShop
from tests.opened_executor import wait_until
from tests.wheels import serve_index, write_wheel
from tests.worker_pool import host_of

pytestmark = pytest.mark.anyio

MAKE = """
import anyio, sys
from pathlib import Path
from ot.registry.from_source import read_pack
from ot.workers.pack_environments import find_environment, make_environment
from tests.worker_pool import host_of

folder = Path(sys.argv[1])
libraries = read_pack(folder / "sample.py").libraries
host = host_of(folder)
tell = lambda line: print(line, flush=True)
anyio.run(lambda: make_environment(find_environment(host.state, libraries), host, tell, patient=False))
"""


@pytest.fixture
def shop(tmp_path: Path) -> LibraryShop:
    return LibraryShop(tmp_path)


async def test_a_pack_runs_in_an_environment_of_its_own(shop: LibraryShop) -> None:
    async with shop.server(shop.offline()) as server:
        facts = await server.call("sample.facts")

        assert facts["thing"] == "1.0"
        assert facts["version"] == sys.version
        assert facts["tool"] == "sample.facts"
        assert [facts["prefix"]] == [str(place) for place in shop.environments()]
    before = shop.environments()[0].stat().st_ino
    async with shop.server({**shop.environ, "UV": "/absent", "PATH": ""}) as later:
        await later.call("sample.facts")

    assert shop.environments()[0].stat().st_ino == before


async def test_it_is_confined_as_ever(shop: LibraryShop) -> None:
    (shop.folder / "secret").write_text("hidden")
    async with shop.server(shop.offline()) as server:
        with pytest.raises(ToolFailedError, match="PermissionError"):
            await server.call("sample.read", path=str(shop.file), other=str(shop.folder / "secret"))


async def test_nothing_is_made_before_a_tool_needs_it_or_where_the_server_has_it(shop: LibraryShop) -> None:
    async with shop.server(shop.environ) as server:
        assert await server.call("sample.light") == "needs nothing"
    text = shop.file.read_text().replace(
        '"thing": "thing>=1", "other_thing": "other-thing", "bin/thing": "thing>=1"', '"json": "json", "anyio": "anyio"'
    )
    shop.file.write_text(
        text.replace("import thing, other_thing", "import anyio as thing").replace("thing.VERSION", "1")
    )
    async with shop.server(shop.environ) as server:
        assert (await server.call("sample.facts"))["prefix"] == sys.prefix

    assert shop.environments() == []


async def test_those_who_wait_hear_how_it_goes_and_their_time_stands_still(shop: LibraryShop) -> None:
    with serve_index(shop.wheels, names=NAMES) as index:
        environ = shop.online(index)
        async with shop.server(environ) as server, anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(server.call, "sample.facts")

    assert shop.told[:2] == ["held", "held"]
    assert shop.told[-2:] == ["released", "released"]
    assert shop.told.count("sample: installing its libraries (thing>=1, other-thing)") == 2
    assert len(shop.environments()) == 1


async def test_without_a_network_the_error_is_one_sentence_with_the_command(shop: LibraryShop) -> None:
    async with shop.server({**shop.environ, "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple"}) as server:
        with pytest.raises(PackNotReadyError) as caught:
            await server.call("sample.facts")

    sentence = word_error(caught.value)
    assert sentence.startswith("sample.facts: its libraries (thing>=1, other-thing) are not installed, and fetching")
    assert sentence.endswith("; run `onetool fetch sample` when the network is available.")
    assert "\n" not in sentence


async def test_a_package_that_is_not_the_pinned_one_is_not_installed(shop: LibraryShop) -> None:
    shop.pin(thing="0" * 64)
    with serve_index(shop.wheels, names=NAMES) as index:
        async with shop.server(shop.online(index)) as server:
            with pytest.raises(PackNotReadyError, match=r"Hash mismatch for `thing==1\.0`"):
                await server.call("sample.facts")
    shop.pin()
    async with shop.server(shop.offline()) as server:
        assert (await server.call("sample.facts"))["thing"] == "1.0"


async def test_a_program_of_a_pack_is_where_its_libraries_are(shop: LibraryShop) -> None:
    write_wheel(shop.wheels, "1.0", program="echo of thing")
    shop.pin()
    async with shop.server(shop.offline()) as server:
        program = Path(await server.call("sample.program", name="thing"))
        with pytest.raises(ToolError, match="does not declare the program bin/sh"):
            await server.call("sample.program", name="sh")

    assert program.is_relative_to(shop.environments()[0])
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "echo of thing\n"


async def test_another_list_has_another_environment(shop: LibraryShop) -> None:
    async with shop.server(shop.offline()) as server:
        await server.call("sample.facts")
    next(shop.wheels.glob("thing-*")).unlink()
    write_wheel(shop.wheels, "2.0")
    shop.pin()

    async with shop.server(shop.offline()) as server:
        assert (await server.call("sample.facts"))["thing"] == "2.0"

    assert len(shop.environments()) == 2


def age(environment: Path) -> None:
    """Let the last use of an environment be long ago."""
    long_ago = time.time() - (KEPT_DAYS + 1) * 24 * 3600
    os.utime(environment / READY, (long_ago, long_ago))


async def test_what_nothing_has_used_for_long_is_removed_and_what_is_in_use_is_not(shop: LibraryShop) -> None:
    async with shop.server(shop.offline()) as first:
        await first.call("sample.facts")
        (used,) = shop.environments()
        folder = used.parent
        for name in ("sample-0000", "sample-1111", "sample-2222", "other-3333"):
            (folder / name / "lib").mkdir(parents=True)
        for name in ("sample-0000", "sample-1111", "other-3333"):
            (folder / name / READY).touch()
        for name in (used.name, "sample-0000", "other-3333"):
            age(folder / name)
        making = (folder / "other.lock").open("ab")
        fcntl.flock(making, fcntl.LOCK_EX)  # as the process does that makes one
        write_wheel(shop.wheels, "2.0", name="third")
        shop.pin()

        async with shop.server(shop.offline()) as second:  # with another list, so another environment
            await second.call("sample.facts")
            await wait_until(lambda: len(shop.environments()) == 4)

            left = {place.name for place in shop.environments()}
            assert left > {used.name, "sample-1111", "other-3333"}
            assert (await first.call("sample.facts"))["prefix"] == str(used)
    making.close()

    assert {place.name for place in find_unused(shop.folder / "state", remove=True)} == {used.name, "other-3333"}


async def test_one_that_is_removed_all_the_same_is_made_again(shop: LibraryShop) -> None:
    async with shop.server(shop.offline()) as server:
        await server.call("sample.facts")
        shutil.rmtree(shop.environments()[0])

        assert (await server.call("sample.facts"))["thing"] == "1.0"


def start(shop: LibraryShop, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    """A process that makes the environment, as a server does."""
    return subprocess.Popen(
        [sys.executable, "-c", MAKE, str(shop.folder)], env=dict(environ), stdout=subprocess.PIPE, text=True
    )


async def test_two_processes_make_it_once(shop: LibraryShop) -> None:
    asked: list[str] = []
    gate = Event()
    with serve_index(shop.wheels, names=NAMES, gate=gate, asked=asked) as index:
        environ = {**shop.online(index), "UV_NO_CACHE": "1"}
        with start(shop, environ) as first, start_when(shop.environments, shop, environ) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "waiting for another process, which installs its libraries\n"
            gate.set()
            said = first.communicate(timeout=60)[0]
            second.communicate(timeout=60)

    assert (first.returncode, second.returncode) == (0, 0)
    assert "waiting" not in said
    assert sum(path.endswith("/thing-1.0-py3-none-any.whl") for path in asked) == 1


async def test_one_that_is_killed_in_the_middle_leaves_nothing_in_the_way(shop: LibraryShop) -> None:
    with serve_index(shop.wheels, names=NAMES, gate=Event()) as index:
        with start(shop, shop.online(index)) as process:
            wait_for(shop.environments)
            process.kill()
        environment = find_environment(shop.folder / "state", shop.libraries)
        assert not environment.ready

        with fail_after(60):
            await make_environment(environment, host_of(shop.folder, shop.offline()), shop.told.append, patient=False)

    assert environment.ready


def start_when(condition: Callable[[], object], shop: LibraryShop, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    wait_for(condition)
    return start(shop, environ)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
