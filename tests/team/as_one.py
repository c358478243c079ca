"""Whatever requests come in whatever order at whichever replica: the answers are those that one replica gives."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import partial

import anyio.from_thread
import anyio.to_thread
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from tests.properties import unhurried
from tests.team.replicas import FIRST, SECOND, Team
from tests.team.team_server import text_of

RUN = re.compile(r"\br[a-z0-9]{8}\b")
RUNNING = re.compile(r"Run (r\w+) is still running")
HANDLE = re.compile(r"\b(?!\d)[a-z0-9]{10}\b")
LATE = "import time\ntime.sleep(2.6)\n'late'"
_people = itertools.count(1)

NAMES = st.sampled_from(["a", "b"])
COMMANDS = st.one_of(
    st.builds("{} * 2".format, st.integers(0, 9)),
    st.just("1 / 0"),
    st.builds("ot.keep(name={!r}, value={})['name']".format, NAMES, st.integers(0, 9)),
    st.builds("ot.kept(name={!r})".format, NAMES),
    st.builds("ot.load(handle=ot.keep(name={!r}, value=list(range({})))['handle'])".format, NAMES, st.integers(0, 9)),
    st.builds("demo.foo(text={!r})".format, st.sampled_from(["yes", "no"])),
    st.just("demo.bar()"),
    st.just("demo.echo(value=1)"),
    st.just("[r['command'] for r in ot.runs(limit=1000) if r['outcome'] and r['command'][0] in '0123456789d']"),
    st.just(LATE),
    st.just("ot.wait(run=last)"),
)
STEPS = st.lists(st.tuples(COMMANDS, st.sampled_from([FIRST, SECOND])), min_size=1, max_size=6)


@dataclass
class Person:
    """Answers questions by what they ask about, and remembers them."""

    yes: str
    asked: int = 0

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked += 1
        if "no" in params.message.split("text =")[-1]:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"answer": self.yes})


async def carry_out(team: Team, steps: list[tuple[str, int]], yes: str, *, spread: bool) -> list[tuple[str, bool, int]]:
    """Carry out the steps for a new person: what each was answered, and how often they were asked by then.

    Nothing where a run that must go on had ended before it was answered.
    """
    person, told, last = Person(yes), [], ""
    async with team.connect(f"one{next(_people)}", answer=person) as client:
        for command, at in steps:
            async with team.only(at if spread else FIRST):
                result = await client.call_tool("run", {"command": command.replace("run=last", f"run={last!r}")})
                while command != LATE and (slow := RUNNING.search(text_of(result))) is not None:
                    result = await client.call_tool("run", {"command": f"ot.wait(run={slow[1]!r})"})
            if (found := RUNNING.search(text_of(result))) is not None:
                last = found[1]
            elif command == LATE:
                return []  # this machine is so busy that nobody was told that the run goes on
            told.append((_plain(text_of(result)), bool(result.is_error), person.asked))
    return told


def _plain(text: str) -> str:
    """Leave out names that are made up, and where a run happened to be when it was looked at."""
    if "is still running" in text:
        return "running"
    return HANDLE.sub("HANDLE", RUN.sub("RUN", text))


async def compare(team: Team, *, examples: int) -> None:
    """Compare what two replicas answer with what one does, for so many sequences of requests."""

    @settings(unhurried, max_examples=examples)
    @given(steps=STEPS, yes=st.sampled_from(["once", "client"]))
    def check(steps: list[tuple[str, int]], yes: str) -> None:
        expected, found = (
            anyio.from_thread.run(partial(carry_out, team, steps, yes, spread=spread)) for spread in (False, True)
        )
        assume(found and expected)
        assert found == expected

    await anyio.to_thread.run_sync(check)
