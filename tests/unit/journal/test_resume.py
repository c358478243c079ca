"""`ot.resume`: a corrected run is answered from the journal of the one that failed, and repeats no effect."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.app import App
from ot.clients.caller import Caller
from tests.engine import answer_of, open_engine
from tests.unit.journal.resumed import World, fail_in

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("resume") / "project") as opened:
        yield opened


@pytest.fixture
def world(app: App) -> World:
    world = World()
    world.add_to(app)
    return world


async def test_the_corrected_code_repeats_no_effect(app: App, world: World) -> None:
    code = "a = world.do(what='a')\nseen = world.look()\nb = world.do(what='b')\n"
    run = await fail_in(app, code + "1 / 0")

    answer = await app.runner.run(f'ot.resume(run="{run}")\n{code}[a, seen, b, world.do(what="c"), world.look()]')

    assert answer.text == f"[a 1, [a], b 2, c 3, [a, b, c]]\nCalls: 3 were answered from run {run}, 2 were made."
    assert world.done == ["a", "b", "c"]
    assert world.reads == 2


@pytest.mark.parametrize("tool", ["world.do", "world.load"])
async def test_many_rows_are_equal_in_whatever_order_their_names_are_given(app: App, world: World, tool: str) -> None:
    rows = "[{'id': n, 'tags': {'a', n}} for n in range(3_000)]"
    run = await fail_in(app, f"{tool}(what='a', rows={rows})\n1 / 0")

    turned = "[{'tags': {n, 'a'}, 'id': n} for n in range(3_000)]"
    other = "[{'id': n, 'tags': {'b', n}} for n in range(3_000)]"
    await answer_of(app, f'ot.resume(run="{run}")\n{tool}(what="a", rows={turned})\n{tool}(what="a", rows={other})')

    assert world.done == ["a", "a"]


async def test_a_failing_run_says_how_to_go_on(app: App, world: World) -> None:
    failed = await app.runner.run("world.do(what='a')\n1 / 0")

    *_, listed, last = failed.text.splitlines()
    assert listed == "  world.do(what='a')"
    assert last.startswith('To keep what was done (1 call), begin the corrected code with ot.resume(run="r')
    assert "is unknown" not in last


async def test_a_failing_run_lists_the_calls_that_it_has_made_itself(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='a')\n1 / 0")
    world.fail = True

    code = "world.do(what='a')\ntry:\n    world.do(what='b')\nexcept Exception:\n    world.look()\n1 / 0"
    failed = await app.runner.run(f'ot.resume(run="{run}")\n{code}')

    assert failed.text.splitlines()[2:5] == [
        "Calls that succeeded:",
        "  world.look()",
        f"Calls: 1 was answered from run {run}, 2 were made.",
    ]


@pytest.mark.parametrize("code", ["1 / 0", "world.look()\n1 / 0", "world.nothing()"])
async def test_a_run_without_calls_worth_keeping_says_nothing(app: App, world: World, code: str) -> None:
    assert await fail_in(app, code) == ""


async def test_a_run_whose_only_call_failed_has_nothing_to_keep(app: App, world: World) -> None:
    world.fail = True

    assert await fail_in(app, "world.do(what='a')") == ""


async def test_a_successful_run_says_nothing(app: App, world: World) -> None:
    assert await answer_of(app, "world.do(what='a')") == "a 1"


async def test_each_call_is_answered_once_and_identical_ones_in_their_order(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='a'), world.do(what='a')\n1 / 0")

    answer = await answer_of(app, f'ot.resume(run="{run}")\n[world.do(what="a") for _ in range(3)]')

    assert answer.splitlines()[0] == "[a 1, a 2, a 3]"
    assert world.done == ["a", "a", "a"]


async def test_reordered_and_parallel_calls_are_answered(app: App, world: World) -> None:
    run = await fail_in(app, "for what in 'abc':\n    world.do(what=what)\n1 / 0")

    code = 'ot.parallel(*[lambda what=what: world.do(what=what) for what in "cabd"])'
    answer = await answer_of(app, f'ot.resume(run="{run}")\n{code}')

    assert answer.splitlines()[0] == "[c 3, a 1, b 2, d 4]"
    assert world.done == ["a", "b", "c", "d"]


async def test_what_was_read_is_read_again_after_a_new_effect(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='a')\nworld.look()\n1 / 0")

    code = "world.do(what='new')\nworld.do(what='a')\nworld.look()"
    answer = await answer_of(app, f'ot.resume(run="{run}")\n{code}')

    assert answer.splitlines()[0] == "[a, new]"
    assert world.reads == 2


async def test_what_was_read_without_an_effect_is_read_again_where_that_stands_before(app: App, world: World) -> None:
    run = await fail_in(app, "world.look()\nworld.do(what='a')\n1 / 0")

    answer = await answer_of(app, f'ot.resume(run="{run}")\nworld.do(what="a")\nworld.look()')

    assert answer.splitlines()[0] == "[a]"


async def test_a_failed_call_is_made_again(app: App, world: World) -> None:
    world.fail = True
    run = await fail_in(app, "try:\n    world.do(what='a')\nexcept Exception:\n    pass\nworld.do(what='b')\n1 / 0")

    answer = await answer_of(app, f'ot.resume(run="{run}")\n[world.do(what="a"), world.do(what="b")]')

    assert answer.splitlines()[0] == "[a 2, b 1]"


async def test_a_resumed_run_that_fails_can_be_resumed_with_all_that_was_done_before(app: App, world: World) -> None:
    first = await fail_in(app, "for what in 'abc':\n    world.do(what=what)\n1 / 0")
    second = await fail_in(app, f'ot.resume(run="{first}")\nworld.do(what="a")\nworld.do(what="x")\n1 / 0')
    third = await fail_in(app, f'ot.resume(run="{second}")\n1 / 0')

    answer = await answer_of(app, f'ot.resume(run="{third}")\n[world.do(what=what) for what in "xabcd"]')

    assert answer.splitlines()[0] == "[x 4, a 1, b 2, c 3, d 5]"
    assert world.done == ["a", "b", "c", "x", "d"]


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("{'a': 1, 'b': {'c': 2, 'd': 3}}", "{'b': {'d': 3, 'c': 2}, 'a': 1}", True),
        ("{1: 'a', 2: 'b'}", "{2: 'b', 1: 'a'}", True),
        ("{'x', 'y', 'z', 'w'}", "{'w', 'z', 'y', 'x'}", True),
        ("float('nan')", "float('nan')", True),
        ("1", "1.0", False),
        ("1", "True", False),
        ("[1, 2]", "[2, 1]", False),
        ("[1, 2]", "(1, 2)", False),
        ("{1: 'a'}", "{'1': 'a'}", False),
        ("0.0", "-0.0", False),
        ("2**70", "2**70", True),
        ("[{1, 2}, {'a': 'x'}]", "[{2, 1}, {'a': 'x'}]", True),
        ("[{1, 2}, {'a': 'x'}]", "[{2, 1}, {'a': 'y'}]", False),
        ("'\\u2028'", "'\\u2028'", True),
    ],
)
async def test_calls_are_equal_whatever_the_order_of_keys(
    app: App, world: World, first: str, second: str, *, equal: bool
) -> None:
    run = await fail_in(app, f"world.do(what={first}, more=None)\n1 / 0")

    await answer_of(app, f'ot.resume(run="{run}")\nworld.do(more=None, what={second})')

    assert len(world.done) == (1 if equal else 2)


async def test_a_positional_argument_equals_a_named_one(app: App) -> None:
    run = await fail_in(app, "ot.notify('nothing', message='a')\n1 / 0")

    answer = await answer_of(app, f'ot.resume(run="{run}")\not.notify(message="a", topic="nothing")')

    assert answer.endswith(f"Calls: 1 was answered from run {run}, 0 were made.")


@pytest.mark.parametrize("kind", ["nan", "large", "dict"])
async def test_values_come_back_as_they_were(app: App, world: World, kind: str) -> None:
    run = await fail_in(app, f"value = world.make(kind={kind!r})\nraise ValueError(repr(value)[:1])")

    answer = await answer_of(
        app, f'ot.resume(run="{run}")\nrepr(world.make(kind={kind!r})) == repr(world.give(kind={kind!r}))'
    )

    assert answer.splitlines()[0] == "True"
    assert world.done == [kind]


@pytest.mark.only_as_process("a run has one thread there, so it cannot end while a call goes on")
async def test_a_call_whose_end_nobody_knows_is_told_of(app: App, world: World) -> None:
    call = "world.block(what='mail')"
    run = await fail_in(
        app,
        f"import threading, time\nthreading.Thread(target=lambda: {call}, daemon=True).start()\n"
        "while not world.look():\n    time.sleep(0.01)\nimport os\nos._exit(3)",
    )

    told = await app.runner.run(f'found = ot.resume(run="{run}")\nprint(found["unknown"])\n{call}')
    told_again = await app.runner.run(f'ot.resume(run="{run}")\ntry:\n    {call}\nexcept Exception:\n    {call}')
    skipped = await answer_of(app, f'ot.resume(run="{run}", unknown="skip")\n{call}')

    assert '[\'world.block(what="mail") at ' in told.text
    assert 'An earlier run made this call, and its outcome is unknown: world.block(what="mail") at ' in told.text
    assert told_again.is_error
    assert skipped.splitlines()[0] == "None"
    assert world.done == ["mail"]


async def test_an_idempotent_call_whose_end_nobody_knows_is_made_again(app: App, world: World) -> None:
    world.fail = True
    run = await fail_in(app, "world.do(what='a')") or await fail_in(app, "world.set(what='b')\n1 / 0")

    assert (await answer_of(app, f'ot.resume(run="{run}")\nworld.set(what="b")')).splitlines()[0] == "b 1"


async def test_what_cannot_be_given_to_code_is_not_done_twice(app: App, world: World) -> None:
    failed = await app.runner.run("world.make(kind='odd')")
    way_on = re.search(r'To keep what was done \(1 call\), begin .* ot\.resume\(run="(\w+)"\)', failed.text)
    assert way_on is not None, failed.text
    run = way_on[1]

    told = await app.runner.run(f'ot.resume(run="{run}")\nworld.make(kind="odd")')

    assert "its result is no longer kept" in told.text
    assert world.done == ["odd"]


async def test_a_run_belongs_to_its_principal(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='a')\n1 / 0", Caller(principal="somebody"))

    refused = await app.runner.run(f'ot.resume(run="{run}")')
    allowed = await app.runner.run(f'ot.resume(run="{run}")["calls"]', caller=Caller(principal="somebody"))

    assert "has no run" in refused.text
    assert allowed.text.splitlines()[0] == "1"


async def test_a_run_belongs_to_its_project(tmp_path: Path, anyio_backend: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with open_engine(tmp_path / "a", home=home) as first, open_engine(tmp_path / "b", home=home) as second:
        World().add_to(first)
        run = await fail_in(first, "world.do(what='a')\n1 / 0")

        refused = await second.runner.run(f'ot.resume(run="{run}")')

    assert "has no run" in refused.text


async def test_a_value_from_the_journal_holds_no_secret_that_was_learnt_since(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='hush-hush')\n1 / 0")
    app.executor.redactor.learn("hush-hush")

    answer = await answer_of(app, f'ot.resume(run="{run}")\n"hush" in world.do(what="hush-" "hush")')

    assert answer.splitlines()[0] == "False"
    assert len(world.done) == 1


async def test_nothing_secret_is_written(tmp_path: Path, anyio_backend: str) -> None:
    async with open_engine(tmp_path / "project", secrets={"KEY": "a-secret-value"}) as app:
        world = World()
        world.add_to(app)
        run = await fail_in(app, "world.do(what='a-secret-value')\n1 / 0 # a-secret-value")

        await answer_of(app, f'ot.resume(run="{run}")\nworld.do(what="a-secret-value")')

    written = b"".join(file.read_bytes() for file in (tmp_path / "project/.onetool/state/journal").iterdir())
    assert b"a-secret-value" not in written
    assert len(world.done) == 1


async def test_it_must_come_first_and_nothing_is_done_if_it_does_not(app: App, world: World) -> None:
    late = await app.runner.run('world.do(what="b")\not.resume(run="r7k2m9xqd")')

    assert "line 2: ot.resume(...) must be the first statement of the code" in late.text
    assert world.done == []


async def test_imports_may_stand_above_it(app: App, world: World) -> None:
    run = await fail_in(app, "world.do(what='a')\n1 / 0")

    answer = await answer_of(app, f'"""Again."""\nimport json; from math import pi\not.resume(run="{run}")["calls"]')

    assert answer.splitlines()[0] == "1"


async def test_whoever_hides_it_is_refused_later(app: App, world: World) -> None:
    late = await app.runner.run('world.do(what="b")\ngetattr(ot, "resume")(run="r7k2m9xqd")')

    assert "must be the first statement of the code" in late.text
