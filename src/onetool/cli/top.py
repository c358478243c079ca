"""`onetool top`: the replicas of a team, or the servers of a person, with their runs, as they are at this moment."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import anyio

from mcp_core.json_types import JsonObject, list_of
from onetool.cli import OK
from onetool.cli.printing import add_json_argument, fail, paint, say, say_json, word_table
from onetool.cli.start import load
from onetool.control.asking import ask_running
from onetool.dashboard.visit import word_principal
from onetool.replicas.team_state import Point, TeamState, figure, runs_of
from ot.config.loader import LoadedConfig
from ot.stats.wording import duration, size
from ot.store.opening import Backend, build_backend
from ot.store.replicas import SeenReplica, name_replica

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

EPILOG = (
    "With a database that replicas share, it shows all of them, and needs no server on this machine; otherwise the "
    "servers over HTTP that run on it. At a terminal it is updated until Ctrl-C."
)
_AGAIN = 2.0  # seconds
_MOST_RUNS = 20
_CLEAR = "\x1b[H\x1b[2J"
_HEADINGS = ("replica", "state", "version", "up", "heard", "kernels", "waiting", "engines", "store", "disk", "memory")
_WIDTHS = (40, 8, 20, 10, 10, 7, 7, 7, 10, 10, 10)
_RUN_WIDTHS = (12, 60, 40, 10, 24)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="show it once")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    follows = sys.stdout.isatty() and not options.once and not options.json
    with closing(build_backend(loaded.config.store)) as backend, suppress(KeyboardInterrupt):
        while True:
            try:
                told = _look(loaded, backend)
            except OSError as error:
                return fail(f"onetool top: {error.strerror or error}")
            if options.json:
                say_json(told)
                return OK
            if not any(each["replicas"] for each in told):
                return fail("onetool top: no server over HTTP is running; `onetool serve --http HOST:PORT` starts one")
            lines = [line for each in told for line in word_state(each, now=time.time())]
            say((_CLEAR if follows else "") + "\n".join(lines))
            if not follows:
                return OK
            time.sleep(_AGAIN)
    return OK


def _look(loaded: LoadedConfig, backend: Backend) -> list[JsonObject]:
    """Return the state of the team, or of each server of this person; blocking, raises OSError."""

    def among(link: PostgresLink) -> list[JsonObject]:
        from ot.store.postgres.replicas import PostgresReplicas  # where a database is configured

        nobody = name_replica("", version="", link="")
        return [anyio.run(TeamState("", PostgresReplicas(link, nobody), None).told)]

    def here() -> list[JsonObject]:
        return [each.answer for each in ask_running(loaded.home, "top") if isinstance(each.answer, dict)]

    return backend.pick(here, among)


def word_state(told: JsonObject, *, now: float) -> Iterator[str]:
    """Yield the lines that show the state of a team."""
    seen = [SeenReplica(**each) for each in list_of(told["replicas"]) if isinstance(each, dict)]  # type: ignore[arg-type]
    rows = [_word_replica(each, now) for each in seen]
    for number, line in enumerate(word_table([_HEADINGS, *rows], _WIDTHS)):
        yield line if number else paint(line, "bold")
    yield ""
    yield _word_hour([Point(**each) for each in list_of(told["hour"]) if isinstance(each, dict)])  # type: ignore[arg-type]
    runs = runs_of(seen)
    yield paint(f"runs in progress: {len(runs)}", "bold")
    listed = [
        (run.run, word_principal(run.principal), run.replica, duration(max(0.0, now - run.began) * 1000), run.state)
        for run in runs[:_MOST_RUNS]
    ]
    yield from word_table(listed, _RUN_WIDTHS) if listed else ()


def _word_replica(each: SeenReplica, now: float) -> tuple[str, ...]:
    def word(name: str, unit: str) -> str:
        found = figure(each.status, name)
        if found is None:
            return "-"
        return {"ms": duration, "bytes": size}[unit](found) if unit else f"{found:,.0f}"

    state = "silent" if not each.alive else "draining" if each.draining else "serving"
    up, heard = (duration(max(0.0, now - moment) * 1000) for moment in (each.started, each.seen))
    engines = str(len(list_of(each.status.get("people"))))
    figures = word("used", ""), word("waiting", ""), engines, word("store_ms", "ms"), word("disk_free", "bytes")
    return (each.name, state, each.version, up, heard, *figures, word("memory", "bytes"))


def _word_hour(points: list[Point]) -> str:
    runs, errors, refused = (sum(each) for each in zip(*((p.runs, p.errors, p.refused) for p in points), strict=True))
    slowest = max((each.p99 for each in points), default=0.0)
    store = max((each.store_ms for each in points), default=0.0)
    return (
        f"last hour: {runs:,} runs, {errors:,} failed, {refused:,} refused by limits; p99 at most "
        f"{duration(slowest * 1000)}, slowest write to the store {duration(store)}"
    )
