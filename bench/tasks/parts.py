"""The tables of the report: tokens, requests and seconds of twelve whole tasks, and the tax of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import anyio
import pytest

from bench.figures import Part, Row, Session, Table, figure_of
from bench.tasks import tax
from bench.tasks.task import Task
from bench.tasks.transcript import Transcript
from bench.tasks.twelve import TASKS
from bench.tasks.ways import (
    configure_onetool,
    connect,
    connect_onetool,
    count_definitions,
    do_directly,
    do_through_run,
    learn_servers,
)
from bench.tasks.world import World, open_world

_HOW = (
    "Fixed scripts without a model, over servers from PyPI and npm; both ways have to find the same right answer. "
    "The direct way has every definition in its context and makes no mistake; through `run` each task begins with "
    "`ot.help` and has one attempt that fails. A client that loads definitions on demand pays at best what the first "
    "column says. Tokens as o200k counts them."
)
_THREE = ("direct, only the servers of the task", "direct, all seven servers", "through run, all seven servers")
_TWO = ("direct", "through run")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A task done both ways, and the tokens of the definitions that each has in its context."""

    task: Task
    direct: Transcript
    through_run: Transcript
    needed: int
    all_servers: int
    run: int

    @property
    def entering(self) -> tuple[int, int, int]:
        return (
            self.direct.entering(self.needed),
            self.direct.entering(self.all_servers),
            self.through_run.entering(self.run),
        )

    @property
    def billed(self) -> tuple[int, int, int]:
        return self.direct.billed(self.needed), self.direct.billed(self.all_servers), self.through_run.billed(self.run)


def measure_parts(session: Session) -> Iterator[Part]:
    try:
        outcomes = anyio.run(do_all, session.tell)
        taxes = anyio.run(_count_taxes, session.tell)
    except pytest.skip.Exception as reason:
        yield Table("Tokens of whole tasks: left out", (), (), about=str(reason.msg))
        return
    except BaseExceptionGroup as group:  # of the clients that were open
        raise _innermost(group) from group
    yield from tables_of(outcomes)
    yield _tax_table(*taxes)


def tables_of(outcomes: list[Outcome]) -> Iterator[Table]:
    yield Table(
        "Tokens that enter the context in a whole task",
        _THREE,
        tuple(_row(each.task.name, "tokens", *each.entering) for each in outcomes),
        about=f"{_HOW} Everything that the model has read and written at the end, counted once.",
        notes=(_cheaper_directly(outcomes, lambda each: each.entering),),
    )
    yield Table(
        "Tokens billed for a whole task",
        _THREE,
        tuple(_row(each.task.name, "tokens", *each.billed) for each in outcomes),
        about="The same tasks, summed over all requests: each sends the whole context so far again. "
        "A provider that caches prompts charges less for what it has seen.",
        notes=(_cheaper_directly(outcomes, lambda each: each.billed),),
    )
    yield Table(
        "Tokens that the model writes in a whole task",
        _TWO,
        tuple(_row(each.task.name, "tokens", each.direct.written, each.through_run.written) for each in outcomes),
        about="Part of both tables above; providers charge several times as much for these as for what is read.",
    )
    yield Table(
        "Requests to the model in a whole task",
        _TWO,
        tuple(_row(each.task.name, "requests", each.direct.requests, each.through_run.requests) for each in outcomes),
        about="Calls that do not depend on each other are one request.",
    )
    yield Table(
        "Seconds in calls of a whole task",
        _TWO,
        tuple(_row(each.task.name, "s", each.direct.seconds, each.through_run.seconds) for each in outcomes),
        about="Servers are connected before, calls are made one after another, and what a model would take for each "
        "request is not in it. Measured once.",
    )


async def do_all(tell: Callable[[str], None]) -> list[Outcome]:
    with open_world() as world:
        definitions = {name: await count_definitions(connect(world, name)) for name in world.servers}
        configure_onetool(world)
        await learn_servers(world)
        run = await count_definitions(connect_onetool(world))
        return [await _do(task, world, definitions, run, tell) for task in TASKS]


async def _do(task: Task, world: World, definitions: dict[str, int], run: int, tell: Callable[[str], None]) -> Outcome:
    tell(f"tasks: {task.name}")
    return Outcome(
        task,
        direct=await do_directly(task, world),
        through_run=await do_through_run(task, world),
        needed=sum(definitions[name] for name in task.servers),
        all_servers=sum(definitions.values()),
        run=run,
    )


async def _count_taxes(tell: Callable[[str], None]) -> tuple[dict[str, int], dict[int, int]]:
    tell("tasks: definitions of 5, 10 and 20 servers")
    return await tax.count_all(), {servers: await tax.count_through_run(servers) for servers in tax.STEPS}


def _tax_table(alone: dict[str, int], through_run: dict[int, int]) -> Table:
    return Table(
        "The tax of servers: tokens of definitions in every request",
        _TWO,
        tuple(
            _row(f"{count} servers", "tokens", sum(alone[name] for name in names), through_run[count])
            for count, names in tax.STEPS.items()
        ),
        about="Name, description and schema of every tool, and the servers' instructions.",
        notes=("Each alone: " + ", ".join(f"{name} {tokens:,}" for name, tokens in alone.items()) + ".",),
    )


def _cheaper_directly(outcomes: list[Outcome], figures: Callable[[Outcome], tuple[int, int, int]]) -> str:
    """Where the direct way costs less, even if only with no other server connected."""
    told = []
    for each in outcomes:
        needed, all_servers, run = figures(each)
        if needed < run:
            told.append(f"{each.task.name}{'' if all_servers < run else ' (if no other server is connected)'}")
    return "Cheaper the direct way: " + ("; ".join(told) if told else "none") + "."


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _row(name: str, unit: str, *values: float) -> Row:
    return Row(name, unit, tuple(map(figure_of, values)))
