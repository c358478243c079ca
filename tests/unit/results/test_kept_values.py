"""Values between runs: kept by one run under a name, had again by a later one of the same person and project."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
import yaml

from ot.app import App
from ot.clients.caller import Caller, ClientMemory
from tests.demo_pack import give_demo
from tests.engine import answer_of, open_engine
from tests.engines import FORGE, on_wasm

pytestmark = pytest.mark.anyio
FLOWS = "policy: {flows: [{from: [demo.upper], to: [demo.echo], action: deny}]}"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    """An engine that the tests share, each with names of its own."""
    async with open_engine(tmp_path_factory.mktemp("kept") / "project", config=FLOWS) as opened:
        yield opened


VALUES = {
    "rows": "[{'id': 1, 'tags': ('a', 'b')}, {'id': 2, 'tags': None}]",
    "dates": "{datetime.date(2026, 11, 16): {1, 2}, 1: b'bytes', 'big': 2**70}",
    "text": "'one\\ntwo\\n'",
    "none": "None",
    "large-list": "[{'n': n, 'text': 'y' * 50} for n in range(20_000)]",
    "large-text": "'\\u2028line\\n' * 1_000_000",
    "large-bytes": "b'\\x00\\xff' * 1_000_000",
}


@pytest.mark.parametrize("name", VALUES)
async def test_a_later_run_has_the_value_again(app: App, name: str) -> None:
    kept = yaml.safe_load(await answer_of(app, f"import datetime\not.keep({name!r}, {VALUES[name]})"))

    assert await answer_of(app, f"import datetime\not.kept(name={name!r}) == {VALUES[name]}") == "True"
    listed = yaml.safe_load(await answer_of(app, "ot.kept()"))
    assert [each["handle"] for each in listed if each["name"] == name] == [kept["handle"]]
    assert await answer_of(app, f"ot.result(handle={kept['handle']!r})['returned'] > 0") == "True"


async def test_a_value_that_is_not_a_number_is_still_that(app: App) -> None:
    await answer_of(app, "ot.keep(name='odd', value=[float('nan'), float('-inf'), -0.0])")

    assert await answer_of(app, "str(ot.kept(name='odd'))") == "[nan, -inf, -0.0]"


async def test_keeping_leaves_nothing_in_the_scratch_folder_even_what_is_too_large(app: App) -> None:
    code = "import os\ntry:\n    ot.keep(name='huge', value='x' * {})\nexcept ValueError as error:\n    print(error)\nos.listdir()"

    assert await answer_of(app, code.format(5_000_000)) == "[]"
    too_large = await answer_of(app, code.format(100_000_000))
    why = "I/O error" if on_wasm() else "File too large"
    assert f"the value was not kept: it cannot be written ({why}); a run's file holds up to 64 MB" in too_large
    assert too_large.endswith("[]")
    assert await answer_of(app, "len(ot.kept(name='huge'))") == "5000000"


async def test_a_name_that_nobody_gave_is_a_key_error_that_names_those_there_are(app: App) -> None:
    await answer_of(app, "ot.keep(name='orders', value=1)")

    told = await answer_of(app, "try:\n    ot.kept(name='order')\nexcept KeyError as error:\n    print(error)")

    assert "there is no kept value 'order' in this project; these exist: orders" in told


@pytest.mark.parametrize("name", ["../x", ".hidden", "-x", "a/b", "a b", "é", "x" * 65, "\0"])
async def test_a_name_that_no_file_should_have_is_refused(app: App, name: str) -> None:
    for code in (f"ot.keep(name={name!r}, value=1)", f"ot.kept(name={name!r})"):
        told = await app.runner.run(code)

        assert told.is_error
        assert "cannot name a kept value" in told.text


async def test_what_cannot_cross_is_refused_where_it_stands(app: App) -> None:
    told = await app.runner.run("ot.keep(name='f', value=['y' * 100_000, {'a': len}])")

    assert told.is_error
    assert "argument value of ot.keep()[1]['a']: a value of type builtin_function_or_method" in told.text


NAMES_IN_AN_ERROR = """
try:
    ot.kept(name='secretly')
except KeyError as error:
    found = str(error)
"""


@pytest.mark.parametrize(
    "read",
    ["found = ot.kept(name='secret')", "found = ot.kept()", NAMES_IN_AN_ERROR],
    ids=["value", "list", "error"],
)
async def test_marks_of_a_flow_travel_with_the_value_and_with_its_name(app: App, read: str) -> None:
    writer, reader, stranger = (Caller(memory=ClientMemory()) for _ in range(3))
    keep = await app.runner.run("ot.keep(name='secret', value=demo.upper(text='mail'))", caller=writer)
    assert not keep.is_error

    told = await app.runner.run(f"{read}\ndemo.echo(value=found)", caller=reader)
    alone = await app.runner.run("demo.echo(value='hello')", caller=stranger)

    assert "demo.echo was not called: demo.upper was called before" in told.text
    assert not alone.is_error


async def test_values_belong_to_their_principal(app: App) -> None:
    await app.runner.run("ot.keep(name='mine', value='x' * 100_000)", caller=Caller(principal="someone"))

    told = await app.runner.run("ot.kept(name='mine')")
    own = await app.runner.run("len(ot.kept(name='mine'))", caller=Caller(principal="someone"))

    assert "there is no kept value 'mine'" in told.text
    assert own.text == "100000"


async def test_a_file_is_taken_from_a_kernel_for_nothing_but_keeping(app: App) -> None:
    forge = FORGE + "import json, time\nforge(json.dumps(MESSAGE).encode())\ntime.sleep(60)"
    call = {"op": "call", "id": 1, "args": [], "kwargs": {"name": "forged"}}
    outside = {"file": "../../etc/passwd", "kind": "text", "what": "str"}

    other = await app.runner.run(forge.replace("MESSAGE", str({**call, "tool": "demo.echo", "written": outside})))
    nonsense = await app.runner.run(forge.replace("MESSAGE", str({**call, "tool": "ot.keep", "written": ["x"]})))
    keeping = forge.replace("MESSAGE", str({**call, "tool": "ot.keep", "written": outside}))
    await app.runner.run(keeping.replace("60", "0.3"))

    assert "demo.echo takes no files" in other.text
    assert "the kernel sent an invalid message" in nonsense.text
    assert "'forged'" not in await answer_of(app, "str(ot.kept())")


async def test_two_servers_that_keep_one_name_at_once_leave_one_whole_value(tmp_path: Path) -> None:
    home = give_demo(tmp_path / "home")
    whole: list[str] = []
    async with open_engine(tmp_path / "a", home=home) as first, open_engine(tmp_path / "b", home=home) as second:
        (tmp_path / "b").rename(tmp_path / "moved")
        (tmp_path / "b").symlink_to(tmp_path / "a")  # the same project, under two names

        async def keep(app: App, number: int) -> None:
            await answer_of(app, f"for n in range(8): ot.keep(name='rows', value=[{number}] * 50_000)")

        async def read(app: App) -> None:
            code = "rows = ot.kept(name='rows')\nlen(rows), len(set(rows))"
            whole.extend([await answer_of(app, code) for _ in range(4)])

        await keep(first, 0)
        async with anyio.create_task_group() as tasks:
            for number, app in enumerate((first, second)):
                tasks.start_soon(keep, app, number)
                tasks.start_soon(read, app)

    assert set(whole) == {"[50000, 1]"}
    results = [file for file in (home / ".onetool/state/results").iterdir() if file.suffix == ".result"]
    lasting = [file for file in results if file.stat().st_mtime > results[0].stat().st_ctime + 600]
    assert len(lasting) == 1  # what was replaced goes soon


async def test_what_cannot_be_kept_leaves_what_was_kept_before(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config="results: {max_size: 16m, keep_for: 600}") as app:
        await answer_of(app, "ot.keep(name='rows', value='small')")
        too_large = await app.runner.run("ot.keep(name='rows', value='x' * 20_000_000)")
        [folder] = (tmp_path / "p/.onetool/state/kept").iterdir()
        folder.rename(tmp_path / "aside")
        folder.touch()
        unnamed = await app.runner.run("ot.keep(name='rows', value='y')")
        folder.unlink()
        (tmp_path / "aside").rename(folder)

        assert "'rows' was not kept: it is larger than 16 MB (results.max_size)" in too_large.text
        assert "'rows' was not kept: File exists" in unnamed.text
        assert await answer_of(app, "ot.kept(name='rows')") == "small"


async def test_a_value_that_has_expired_is_told_apart_from_one_that_never_was(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config="results: {keep_for: 0.05}") as app:
        await answer_of(app, "ot.keep(name='rows', value=[1, 2])")
        with anyio.fail_after(60):
            while "has expired" not in (told := await app.runner.run("ot.kept(name='rows')")).text:
                await anyio.sleep(0.02)

        assert "the kept value 'rows' has expired and is gone (results.keep_for" in told.text
        assert await answer_of(app, "ot.kept()") == "[]"
