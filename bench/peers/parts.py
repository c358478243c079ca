"""The parts of the report that compare contestants: the table, what code can reach, and the machine's drift."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.drift import Drift
from bench.figures import Figure, Row, Session, Table, figure_of
from bench.peers.contestants import Field, gather
from bench.peers.endurance import count_runs, measure_endurance
from bench.peers.isolation import measure_isolation
from bench.peers.rounds import BACK_TO_BACK, Measured, build_rows, measure_rounds

_TOO_SLOW = (Figure(note="not measured: too slow"), Figure(note="not measured: too slow"))


def measure_parts(session: Session) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        field = gather(Path(folder), session.tell)
        contestants = list(field.contestants)
        drift = Drift()
        measured = measure_rounds(contestants, session, drift)
        swift = [contestant for contestant in contestants if not measured[contestant.name].slow]
        endured = [measure_endurance(one, session) if one in swift else _TOO_SLOW for one in contestants]
        yield _build_table(field, measured, endured, count_runs(session))
        yield measure_isolation(swift, session)
        yield _build_drift(drift, measured[contestants[0].name])


def _build_table(field: Field, measured: dict[str, Measured], endured: list[tuple[Figure, Figure]], runs: int) -> Table:
    memory = (
        Row(f"memory after {runs:,} runs", "MB", tuple(after for after, _ in endured)),
        Row(f"growth of memory by {runs:,} runs", "%", tuple(growth for _, growth in endured)),
    )
    skipped = tuple(f"{missing.name} is skipped: it {missing.reason.rstrip('.')}." for missing in field.missing)
    return Table(
        "Side by side",
        tuple(f"{contestant.name} {contestant.version}" for contestant in field.contestants),
        build_rows(measured) + memory,
        about="The same work for everybody, in turns: the median of all rounds, in brackets the least and the most.",
        notes=(*field.notes, *skipped),
    )


def _build_drift(drift: Drift, floor: Measured) -> Table:
    def row(name: str, unit: str, values: list[float]) -> Row:
        return Row(name, unit, tuple(figure_of(value) for value in values), "neither")

    echo = floor.values[BACK_TO_BACK]
    return Table(
        "The machine's own drift",
        tuple(f"round {number + 1}" for number in range(len(drift.loop_ms))),
        (
            row("a loop of Python", "ms", drift.loop_ms),
            row("a line to another process and back", "µs", drift.pipe_us),
            Row(
                "a call of the SDK server",
                "ms",
                tuple(
                    figure_of(echo[n]) if n < len(echo) else Figure(note="failed") for n in range(len(drift.loop_ms))
                ),
                "neither",
            ),
        ),
        about="Work that has nothing to do with OneTool, in every round: as far as this changes, so may the rest.",
    )
