"""The lines of `make bench` that compare servers, as a part of the report."""

from __future__ import annotations

from collections.abc import Iterator

from bench.figures import Figure, Row, Session, Table, figure_of
from bench.report import Line, word_target
from bench.servers import open_servers
from bench.subjects import measure_subjects

SUBJECTS = ["calls", "engines", "http", "memory", "results", "runs", "startup", "throughput"]


def measure_parts(session: Session) -> Iterator[Table]:
    rows = []
    with open_servers() as servers:
        for subject in SUBJECTS:
            session.tell(f"against floors: {subject}")
            rows += [_row(line) for line in measure_subjects(servers, [subject])]
    yield Table(
        "Against floors",
        ("OneTool", "floor", "ratio", "ratio by round", "target", "met"),
        tuple(rows),
        about="What OneTool adds to the least that the same work can cost, with the target of each line.",
        notes=("`make bench` prints these lines, and many that compare no servers.",),
    )


def _row(line: Line) -> Row:
    spread = "{:.2f} to {:.2f}".format(*line.spread) if line.spread else ""
    ratio = "" if line.floor is None else f"{line.compared:.2f}"
    figures = (
        figure_of(line.ours),
        Figure() if line.floor is None else figure_of(line.floor),
        *(Figure(note=text) for text in (ratio, spread, word_target(line), "yes" if line.ok else "no")),
    )
    return Row(line.what, line.unit, figures, "lower" if line.lower_is_better else "higher")
