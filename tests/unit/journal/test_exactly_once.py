"""Whatever fails in a program and whenever: corrected and resumed until it succeeds, it has each effect exactly once.

`EXAMPLES=1000 pytest tests/unit/journal/test_exactly_once.py` tries more programs than every run of the tests does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ot.app import App
from ot.effects import Effect
from ot.errors import ToolError
from tests.engine import answer_of, open_engine
from tests.opened_executor import define
from tests.unit.journal.resumed import fail_in

pytestmark = pytest.mark.anyio

EXAMPLES = int(os.environ.get("EXAMPLES", "15"))
WORDS = "abc"
LOOK = "counted.look()"
NOT_NOW, NEVER = "not now", "never"  # how a call fails: with an error, or without an end; each before its effect


class CountedWorld:
    """Tools that count: `do` and `set` have an effect, `look` reads all of them."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failing = ""  # how the next call with effect fails,
        self.before = 0  # after so many others
        self.hangs = anyio.Event()

    def add_to(self, app: App) -> None:
        for name, function, effect in (
            ("counted.do", self.do, Effect.UNKNOWN),
            ("counted.set", self.do, Effect.IDEMPOTENT),
            ("counted.look", self.look, Effect.READS),
            ("counted.hang", self.hang, Effect.READS),
        ):
            app.registry.register(define(name, declared=effect), function)

    async def do(self, arguments: dict[str, Any]) -> str:
        if self.failing and not self.before:
            failing, self.failing = self.failing, ""
            if failing == NOT_NOW:
                raise ToolError("not now")
            self.hangs.set()
            await anyio.sleep_forever()
        self.before -= 1
        self.done.append(arguments["what"])
        return f"{arguments['what']}{self.done.count(arguments['what'])}"

    async def look(self, arguments: dict[str, Any]) -> list[str]:
        return sorted(self.done)

    async def hang(self, arguments: dict[str, Any]) -> None:
        """Wait until another call of the run hangs."""
        await self.hangs.wait()


_calls = st.one_of(
    st.sampled_from(WORDS).map(lambda word: f"counted.do(what={word!r})"),
    st.sampled_from(WORDS).map(lambda word: f"counted.set(what={word!r})"),
    st.just(LOOK),
    st.permutations(WORDS).map(
        lambda words: "ot.parallel(" + ", ".join(f"lambda: counted.do(what={w!r})" for w in words) + ")"
    ),
)
_programs = st.lists(_calls, min_size=1, max_size=7)
_failures = st.lists(st.tuples(st.sampled_from(["raise", "exit", NOT_NOW, NEVER]), st.integers(0, 7)), max_size=4)


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("once") / "project") as opened:
        yield opened


@given(program=_programs, forgotten=st.none() | st.integers(0, 6), failures=_failures)
@example(program=["counted.do(what='a')", "counted.do(what='b')", LOOK], forgotten=1, failures=[])
@settings(max_examples=EXAMPLES)
async def test_each_effect_happens_once_and_the_value_is_that_of_a_run_without_failures(
    app: App, program: list[str], forgotten: int | None, failures: list[tuple[str, int]]
) -> None:
    without = CountedWorld()
    without.add_to(app)
    expected = await answer_of(app, _write(program))

    world = CountedWorld()
    world.add_to(app)
    run = "" if forgotten is None else await fail_in(app, _write(_without(program, forgotten), "raise", len(program)))
    for kind, place in failures:
        run = await fail_in(app, _begin(run) + _write(program, kind, place, world)) or run
        world.failing = ""
    answer = await answer_of(app, _begin(run) + _write(program))

    assert answer.partition("\nCalls: ")[0] == expected
    assert Counter(world.done) == Counter(without.done)


def _without(program: list[str], place: int) -> list[str]:
    """Leave out a call with effect, and all that comes after what is read next: what was read then is not true later."""
    effects = [n for n, call in enumerate(program) if call != LOOK and n >= place]
    if not effects:
        return program
    rest = program[effects[0] + 1 :]
    read = next((n for n, call in enumerate(rest) if call != LOOK), len(rest))
    return [*program[: effects[0]], *rest[:read]]


def _begin(run: str) -> str:
    return f"ot.resume(run={run!r}, unknown='repeat')\n" if run else ""


def _write(program: list[str], failure: str = "", place: int = 0, world: CountedWorld | None = None) -> str:
    """Write the program; a failure makes the code raise or end there, or the next call with effect fail."""
    lines = [f"got.append({call})" for call in program]
    if failure == "raise":
        lines.insert(place, "1 / 0")
    elif failure == "exit":
        lines.insert(place, "import os; os._exit(1)")
    elif world is not None:
        world.failing, world.before, world.hangs = failure, place, anyio.Event()
        if failure == NEVER:
            lines = [
                "import os, threading",
                "def leave():",
                "    counted.hang()",
                "    os._exit(1)",
                "threading.Thread(target=leave, daemon=True).start()",
                *lines,
            ]
        lines.append("1 / 0")
    return "\n".join(["got = []", *lines, "got"])
