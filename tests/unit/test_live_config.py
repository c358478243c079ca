"""A reload: what is new is there, what is under way goes on, and what is wrong changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
import yaml

from ot.app import App
from tests.demo_pack import with_demo
from tests.engine import open_engine, write_extension
from tests.opened_executor import wait_until

SERVERS = Path(__file__).parents[1] / "programs" / "servers"

PACK = '''"""A pack of the test."""

import os

from ot.context import current
from ot.isolate import isolated


async def number() -> int:
    """Give a number."""
    return {number}


@isolated
def apart() -> list[int]:
    """Give a number from a process of its own."""
    return [{number}, os.getpid()]
'''

EXTENSION = '''
import os
import time
from pathlib import Path
import ot_sdk

def whoami() -> list:
    """Tell who it is and what it is set to."""
    return [os.getpid(), ot_sdk.config().get("key")]

def hold(*, folder: str) -> str:
    """Take until somebody ends it."""
    (Path(folder) / "begun").touch()
    while not (Path(folder) / "end").exists():
        time.sleep(0.01)
    return "done"
'''


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_engine(
        tmp_path / "e", packs={"sample": PACK.format(number=1)}, extensions={"own": EXTENSION}
    ) as app:
        yield app


async def run(app: App, code: str) -> str:
    return (await app.runner.run(code)).text


def configure(tmp_path: Path, text: str) -> None:
    (tmp_path / "e" / ".onetool" / "onetool.yaml").write_text(with_demo(text))


async def test_an_alias_that_stands_for_no_tool_is_named_as_check_names_it(app: App, tmp_path: Path) -> None:
    configure(tmp_path, "aliases: {good: own.whoami, bad: onw.whoami, gone: own.whoami, chain: good}")
    some = await run(app, "ot.reload()")
    configure(tmp_path, "aliases: {gone: own.whoami}\npacks: {own: {enabled: false}}")
    off = await run(app, "ot.reload()")

    assert some.startswith("OK: Configuration reloaded\naliases.bad: There is no pack 'onw'. Packs: ")
    assert "aliases.good" not in some
    assert off.startswith("OK: Configuration reloaded\naliases.gone: The pack own is switched off.")


async def test_a_built_in_pack_that_has_changed_is_read_and_imported_again(app: App, tmp_path: Path) -> None:
    file = tmp_path / "e" / "packs" / "sample.py"
    before = await run(app, "sample.number(), sample.apart()[0]")
    status = file.stat()
    file.write_text(PACK.format(number=2) + '\n\nasync def more() -> str:\n    """Be new."""\n    return "new"\n')
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # edited within the clock's resolution
    (tmp_path / "e" / "packs" / "another.py").write_text(PACK.format(number=3))

    unchanged = await run(app, "sample.number(), sample.apart()[0]")
    assert await run(app, "ot.reload()") == "OK: Configuration reloaded"

    assert before == unchanged == "[1, 1]"
    assert await run(app, "sample.number(), sample.apart()[0], sample.more(), another.number()") == "[2, 2, new, 3]"


async def test_a_pack_that_is_gone_or_broken_is_gone_and_told(app: App, tmp_path: Path) -> None:
    file = tmp_path / "e" / "packs" / "sample.py"
    file.write_text("def (")
    await run(app, "ot.reload()")
    broken = [problem.file.name for problem in app.problems]
    file.write_text(PACK.format(number=4))
    await run(app, "ot.reload()")

    assert broken == ["sample.py"]
    assert app.problems == []
    assert await run(app, "sample.number()") == "4"


async def test_a_pack_that_could_not_be_imported_is_tried_anew(app: App, tmp_path: Path) -> None:
    file = tmp_path / "e" / "packs" / "sample.py"
    file.write_text(PACK.format(number=1).replace("import os", "import no_such_module"))
    await run(app, "ot.reload()")
    assert "no_such_module" in await run(app, "sample.number()")
    assert len(app.problems) == 1

    file.write_text(PACK.format(number=5))
    await run(app, "ot.reload()")

    assert await run(app, "sample.number()") == "5"
    assert app.problems == []


async def test_a_worker_is_told_its_new_settings_and_others_are_left_alone(app: App, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "other", EXTENSION)
    await run(app, "ot.reload()")
    first = await run(app, "own.whoami(), other.whoami()[0]")
    configure(tmp_path, "packs: {own: {key: 5}}")
    await run(app, "ot.reload()")
    second = await run(app, "own.whoami(), other.whoami()[0]")

    (pid, setting), other = yaml.safe_load(first)
    (new_pid, new_setting), same = yaml.safe_load(second)
    assert (setting, new_setting) == (None, 5)
    assert pid != new_pid
    assert other == same


async def test_a_call_in_flight_ends_well_though_its_worker_is_renewed(app: App, tmp_path: Path) -> None:
    answers: list[str] = []

    async def call() -> None:
        answers.append(await run(app, f"own.hold(folder={str(tmp_path)!r})"))

    async with anyio.create_task_group() as tasks:
        await run(app, "own.whoami()")
        tasks.start_soon(call)
        await wait_until((tmp_path / "begun").exists)
        configure(tmp_path, "packs: {own: {key: 6}}")
        assert await run(app, "ot.reload()") == "OK: Configuration reloaded"
        assert "6]" in await run(app, "own.whoami()")
        assert not answers
        (tmp_path / "end").touch()

    assert answers == ["done"]


async def test_the_time_of_extensions_changes_with_a_reload(app: App, tmp_path: Path) -> None:
    configure(tmp_path, "workers: {call_timeout: 0.3}")
    await run(app, "own.whoami()")
    await run(app, "ot.reload()")

    assert "took longer than 0.3 s" in await run(app, f"own.hold(folder={str(tmp_path)!r})")


async def test_what_the_person_says_of_effects_changes_with_a_reload(app: App, tmp_path: Path) -> None:
    configure(tmp_path, "packs: {own: {reads: ['who*']}}")
    before = app.registry.get("own.whoami").effect
    await run(app, "ot.reload()")

    assert (before, app.registry.get("own.whoami").effect) == ("unknown", "reads")
    assert "effect: reads" in await run(app, 'ot.tools(pattern="own.whoami", info="full")')


async def test_servers_come_and_go_with_a_reload(app: App, tmp_path: Path) -> None:
    server = f"{{command: {sys.executable}, args: [{SERVERS / 'changing.py'}, {tmp_path / 'counter'}]}}"
    configure(tmp_path, f"servers: {{changing: {server}}}")
    added = await run(app, "ot.reload()")
    called = await run(app, "changing.grow()")
    configure(tmp_path, "")
    await run(app, "ot.reload()")

    assert added == "OK: Configuration reloaded"
    assert called == "grow in start 0"
    assert "There is no pack 'changing'" in await run(app, "changing.grow()")


async def test_reloads_at_once_come_one_after_the_other(app: App, tmp_path: Path) -> None:
    answers = []

    async def reload() -> None:
        answers.append(await run(app, "ot.reload()"))

    configure(tmp_path, "aliases: {up: demo.upper}")
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(reload)

    assert answers == ["OK: Configuration reloaded"] * 8
    assert await run(app, "up(text='x')") == "X"
