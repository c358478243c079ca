"""One command in, one answer out: through a whole engine, with real kernels."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from mcp_core.quick_dataclass import replace
from ot.app import App
from ot.clients.caller import Caller
from ot.config.team import LimitSettings
from ot.limits import PersonLimits
from ot.run.answer import Answer
from ot.run.kernel_calls import MAX_CALLS, MAX_STANDING, MAX_WAITING, Backlog
from ot.run.kernel_session import RunView
from ot.run.namespace import Namespace
from ot.run.preflight import MAX_KEYWORDS, MAX_REFERENCES
from ot.store.quotas import EmbeddedQuotas
from ot.telemetry.meters import Meters
from ot.telemetry.telemetry import Telemetry
from tests.engine import open_engine
from tests.engines import FORGE, on_wasm

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("runner")]

ODD = '''
"""Odd tools."""

import anyio

pack = "odd"
here = most = 0


async def crowd() -> int:
    """Be here for a moment; gives how many were at once."""
    global here, most
    here += 1
    most = max(most, here)
    await anyio.sleep(0.02)
    here -= 1
    return most


async def thing() -> object:
    """Give something that code cannot have."""
    return object()


async def text() -> str:
    """Give text that looks like a value.

    It is long ago that it was one.

    Returns:
        Text.

    Example:
        odd.text()
    """
    return '{"a": 1}'


async def send(*, text: str) -> str:
    """Send a text.

    Args:
        text: Words.
    """
    return text
'''
CONFIG = """
execution: {warm: 2}
aliases: {shout: demo.upper, here: there, there: here}
projects: {site: {path: /srv/site, attrs: {kind: web}}}
"""


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("runner"), config=CONFIG, packs={"odd": ODD}) as app:
        yield app


async def failure_of(app: App, command: str) -> str:
    answer = await app.runner.run(command)
    assert answer.is_error, answer.text
    return answer.text


async def text_of(app: App, command: str, **more: object) -> str:
    answer = await app.runner.run(command, **more)  # type: ignore[arg-type]
    assert not answer.is_error, answer.text
    return answer.text


# -- answers


async def test_a_run_is_delivered_before_it_returns(app: App) -> None:
    delivered: list[Answer] = []
    answer = await app.runner.run("6 * 7", deliver=delivered.append)

    assert delivered == [answer] == [Answer("42")]


async def test_the_journal_says_how_runs_ended(app: App) -> None:
    for command in ("'a value'", "nothing = 1", "1 / 0"):
        await app.runner.run(command)
    rows = json.loads(await text_of(app, "import json\njson.dumps([dict(run) for run in ot.runs()])"))
    outcomes = {row["command"]: (row["outcome"], row["error"]) for row in rows}

    assert outcomes["'a value'"] == ("value", "")
    assert outcomes["nothing = 1"] == ("nothing", "")
    assert outcomes["1 / 0"] == ("error", "ZeroDivisionError")


async def test_a_run_that_fails_lists_what_it_did_and_the_next_one_reuses_it(app: App) -> None:
    failed = await failure_of(app, "odd.send(text='once')\n1 / 0")
    went_well = await text_of(app, "odd.send(text='once')")
    found = re.search(
        r'To keep what was done \(1 call\), begin the corrected code with (ot\.resume\(run="\w+"\))', failed
    )
    assert found is not None
    resumed = await text_of(app, f"{found[1]}\nodd.send(text='once')")

    assert "Calls that succeeded:\n  odd.send(text='once')" in failed
    assert went_well == "once"
    assert resumed.startswith("once\n")
    assert len(resumed.splitlines()) == 2


@pytest.mark.parametrize(
    "code", ["'x' * 30_000", "'x' * 2_000_000", "['x'] * 30_000", "['x'] * 300_000", "1 << 90_000"]
)
async def test_a_value_too_long_for_an_answer_is_stored_as_what_it_is(app: App, code: str) -> None:
    text = await text_of(app, code)
    handle = re.search(r'ot\.load\(handle="(\w+)"', text)
    assert handle is not None

    assert await text_of(app, f"ot.load(handle={handle[1]!r}) == {code}") == "True"


async def test_what_was_printed_is_stored_where_it_is_too_long(app: App) -> None:
    text = await text_of(app, "print('x' * 30_000)\n1")
    handle = re.search(r'ot\.result\(handle="(\w+)"', text)
    assert handle is not None

    assert await text_of(app, f"'x' * 200 in str(ot.result(handle={handle[1]!r}))") == "True"
    assert await text_of(app, "print('x' * 100)\n1") == f"{'x' * 100}\n1"


async def test_a_long_command_is_read_as_a_short_one_is(app: App) -> None:
    code = f"```python\n{'# comment' * 10_000}\n6 * 7\n```"

    assert await text_of(app, code) == "42"


async def test_a_run_is_named_by_whoever_begins_it(app: App) -> None:
    answer = await app.runner.run("odd.send(text='once')\n1 / 0", caller=Caller(run_id="rmine2345"))

    assert 'ot.resume(run="rmine2345")' in answer.text


async def test_runs_are_counted_with_what_went_wrong(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    meters = Meters()
    monkeypatch.setattr(app.executor, "telemetry", Telemetry(meters))
    answers = [await app.runner.run(command) for command in ("1", "1 / 0", "while", "1")]

    assert [answer.is_error for answer in answers] == [False, True, True, False]
    assert {labels: sum(series.counts) for labels, series in meters.runs.series()} == {
        ("",): 2,
        ("ZeroDivisionError",): 1,
        ("SyntaxError",): 1,
    }


async def test_a_run_beyond_a_persons_limit_does_not_begin(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = PersonLimits("ada", LimitSettings(runs_per_minute=1), EmbeddedQuotas(tmp_path))
    monkeypatch.setattr(app.executor, "limits", limits)
    delivered: list[Answer] = []
    first, second = [await app.runner.run("6 * 7", deliver=delivered.append) for _ in range(2)]

    assert first == Answer("42")
    assert second.is_error
    assert "limit of 1 runs per minute" in second.text
    assert delivered == [first]  # one that was refused is only returned


# -- names


async def test_names_are_aliases_projects_and_tools(app: App) -> None:
    assert await text_of(app, "shout(text='a')") == "A"
    assert await text_of(app, "[str(proj.site), proj.site.kind]") == "[/srv/site, web]"
    assert "site" in await failure_of(app, "getattr(proj, 'sight')")  # which there is instead
    assert "Tools of odd: text" in await failure_of(app, "getattr(odd, 'texts')()")


async def test_a_modest_alias_gives_way_to_a_pack(app: App) -> None:
    aliases, shapes = {"odd": "demo.upper", "loud": "demo.upper"}, app.executor.shapes
    assert shapes is not None

    def given(*modest: str) -> object:
        namespace = Namespace(app.registry, aliases, {}, shapes=shapes, modest=modest)
        return json.loads(namespace.request("1", {}, limit=100))["aliases"]

    assert given() == given("loud") == aliases
    assert given("odd", "loud") == {"loud": "demo.upper"}


async def test_aliases_that_lead_to_each_other_are_named(app: App) -> None:
    failed = await failure_of(app, "here()")

    assert "here" in failed
    assert "there" in failed


async def test_tools_are_documented_as_python_is(app: App) -> None:
    shown = await text_of(
        app, "import inspect\n[odd.text.__doc__, odd.send.__doc__, str(inspect.signature(odd.send)), odd.__doc__]"
    )
    names = await text_of(app, "dir(odd)")

    for part in ("Give text that looks like a value.", "long ago", "Returns: Text.", "Example:", "    odd.text()"):
        assert part in shown
    assert "Args:" in shown
    assert "text: Words." in shown
    assert "Odd tools." in shown
    assert "crowd" in names
    assert "site" in await text_of(app, "dir(proj)")


@pytest.mark.parametrize("length", [201, 5000])
async def test_names_that_are_too_long_are_refused(app: App, length: int) -> None:
    assert "was refused: the maximum is 200" in await failure_of(app, f"getattr(odd, 'x' * {length})()")
    assert "was refused: the maximum is 200" in await failure_of(app, f"odd.send(**{{'x' * {length}: 1}})")


# -- calls


async def test_calls_beyond_those_at_once_have_their_turn(app: App) -> None:
    most = await text_of(app, "import json\njson.dumps(ot.parallel(*[odd.crowd] * 100))")

    assert len(json.loads(most)) == 100
    assert max(json.loads(most)) == (1 if on_wasm() else MAX_CALLS)  # which has one thread to call them on


async def test_a_value_that_code_cannot_have_is_an_error_of_the_call(app: App) -> None:
    assert "TypeError: the result of odd.thing cannot be passed to code" in await failure_of(app, "odd.thing()")


@pytest.mark.parametrize("size", [100, 500_000, 1_500_000])
async def test_arguments_of_any_size_arrive_whole(app: App, size: int) -> None:
    assert await text_of(app, f"text = 'x$' * {size // 2}\ndemo.echo(value=[text]) == [text]") == "True"


async def test_text_that_looks_like_a_value_is_explained_where_it_ends_and_where_code_fails_on_it(app: App) -> None:
    assert await text_of(app, "odd.text()", caller=Caller(client="a client")) == (
        '{"a": 1}\n[This is text (str), not a dict: json.loads() makes it one.]'
    )
    assert await text_of(app, "odd.text()") == '{"a": 1}'
    assert "[odd.text gave text (str), not a dict" in await failure_of(app, "odd.text()['a']")
    assert "gave text" not in await failure_of(app, "odd.text()\n1 / 0")
    assert "gave text" not in await failure_of(app, "demo.foo()\nlen(1)")


async def test_each_call_is_told_to_whoever_listens(app: App) -> None:
    heard: list[tuple[float, str]] = []

    async def hear(done: float, total: float | None, message: str) -> None:
        heard.append((done, message))

    await text_of(app, "odd.text()\nodd.text()\ndemo.foo()", caller=Caller(progress=hear))

    assert [one for one in heard if one[1] in ("odd.text", "demo.foo")] == [
        (1, "odd.text"),
        (2, "odd.text"),
        (3, "demo.foo"),
    ]


def test_a_kernel_is_held_while_too_much_of_it_waits() -> None:
    said: list[bool] = []

    class Held:
        def hold(self, *, held: bool) -> None:
            said.append(held)

    backlog = Backlog(Held())  # type: ignore[arg-type]
    backlog.add(MAX_STANDING)
    backlog.remove(MAX_STANDING)
    for _ in range(MAX_WAITING):
        backlog.add(1)
    assert said == []
    backlog.add(1)
    assert said == [True]
    backlog.remove(1)
    assert said == [True, False]
    backlog.count_unread(1, MAX_STANDING)
    assert said[-1] is True
    backlog.count_unread(-1, MAX_STANDING)
    assert said[-1] is False
    backlog.add(MAX_STANDING)
    assert said[-1] is True
    backlog.remove(MAX_STANDING)
    assert said[-1] is False


# -- ends


async def limited(app: App, command: str, expected: str) -> str:
    """Run with little time: more of it where a busy machine has not come to the command."""
    usual = app.runner.settings
    for seconds in (0.1, 1, 10, 60):
        app.runner.settings = replace(usual, timeout=seconds)
        try:
            text = await failure_of(app, command)
        finally:
            app.runner.settings = usual
        if expected in text:
            assert f"took longer than {seconds:g} s" in text
            break
    return text


async def test_code_that_takes_too_long_is_stopped_where_it_is(app: App) -> None:
    text = await limited(app, "print('begun')\nwhile True: pass", "stopped at line 2")

    assert text.startswith("begun\n")
    assert "stopped at line 2" in text


async def test_code_that_does_not_stop_is_ended_and_says_where_it_was(app: App) -> None:
    stubborn = "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass"

    assert "stopped at line 3" in await limited(app, stubborn, "stopped at line 3")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os\nos._exit(3)", "exited with status 3"),
        pytest.param(
            "import os\nos.kill(os.getpid(), 9)",
            "ended without a result",
            marks=pytest.mark.only_as_process("there are no signals there"),
        ),
    ],
)
async def test_a_kernel_that_ends_without_an_answer_says_how(app: App, code: str, words: str) -> None:
    assert words in await failure_of(app, code)


CALL = {"op": "call", "id": 1, "tool": "odd.text", "args": [], "kwargs": {}}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"op": "nosuch"}, "invalid message: 'nosuch'"),
        ({"op": "nosuch", "$": "a tag"}, "invalid message"),
        ({"op": "nosuch", "more": "x" * 300_000}, "invalid message: 'nosuch'"),
        ({"op": "file", "name": "../../etc/passwd"}, "The run was stopped"),
        ({}, "invalid message"),
        ({**CALL, "id": "1"}, "a call has a number"),
        ({**CALL, "args": {}}, "a call has a number"),
        ({**CALL, "kwargs": []}, "a call has a number"),
        ({**CALL, "written": {"file": "a", "kind": "text", "what": "str"}}, "odd.text takes no files"),
        ({"op": "error", "type": "Forged"}, "could not be read"),
        ({"op": "unconfined", "failed": ["landlock"]}, "landlock"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_messages_that_code_makes_up_end_its_run(app: App, message: dict[str, object], words: str) -> None:
    assert words in await failure_of(
        app, f"{FORGE}import json\nforge(json.dumps({message!r}).encode())\nwhile True: pass"
    )


@pytest.mark.parametrize(
    ("references", "words"),
    [
        (f"[{{'keywords': []}}] * {MAX_REFERENCES + 1}", "calls are written out"),
        (f"[{{'keywords': ['a'] * {MAX_KEYWORDS + 1}}}]", "a call has more than"),
    ],
)
async def test_more_calls_than_can_be_judged_end_a_run(app: App, references: str, words: str) -> None:
    message = f"{{'op': 'references', 'references': {references}}}"

    assert words in await failure_of(
        app, f"{FORGE}import json\nforge(json.dumps({message}).encode())\nwhile True: pass"
    )


async def test_a_run_can_be_looked_at_while_it_goes_on(app: App) -> None:
    view = RunView()
    before = await view.look()
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await app.runner.run("print('one')\ndemo.sleep(seconds=600)", view=view)

        tasks.start_soon(run)
        with anyio.fail_after(60):
            while not (seen := await view.look(from_start=True)).calls:
                await anyio.sleep(0.005)
            while seen.line != 2:  # the line may have been told a moment before the call began
                seen = await view.look(from_start=True)
        new = await view.look()
        tasks.cancel_scope.cancel()

    assert (before.begun, before.printed.text, before.line) == (False, "", None)
    assert (seen.begun, seen.printed.text, seen.line) == (True, "one\n", 2)
    assert [tool for tool, _ in seen.calls] == ["demo.sleep"]
    assert 0 <= seen.calls[0][1] < 60
    assert new.printed.text == ""
