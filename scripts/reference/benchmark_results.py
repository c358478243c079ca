"""The figures of the run that is kept, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bench.figures import Part, Results, Row, Table, read_results
from bench.grids import build_grid, word_value
from bench.side_by_side import KEPT
from scripts.reference.tables import in_cell, render_table


def render_benchmark_results() -> str:
    return (
        render_results(read_results(KEPT)) if KEPT.exists() else "No run is kept yet: `make bench PEERS=1` makes one."
    )


_COMPARED = ("OneTool", "direct calls", "FastMCP code mode", "onetool-mcp")  # those that can call tools
_FIGURES = (
    "tokens of the definitions",
    "start to first answered run",
    "ten calls of a tool",
    "a thousand calls of a tool",
    "memory when idle",
)


def render_comparison() -> str:
    """Return the table at the top of README: OneTool beside others of its kind, as the kept run has them."""
    [table] = [part for part in read_results(KEPT).parts if isinstance(part, Table) and part.title == "Side by side"]
    names = [column.rpartition(" ")[0] for column in table.columns]
    columns = [names.index(name) for name in _COMPARED]
    rows = {row.name: row for row in table.rows}
    lines = [(name, *(_word(rows[name], column) for column in columns)) for name in _FIGURES]
    return render_table((" ", *(table.columns[column] for column in columns)), lines)


def _word(row: Row, column: int) -> str:
    figure = row.figures[column]
    return figure.note if figure.median is None else word_value(figure.median, row.unit)


def render_results(results: Results) -> str:
    """Write everything that a run measured as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    rounds = f"{results.rounds} round{'' if results.rounds == 1 else 's'}"
    begin = f"Measured {results.made} on {results.machine}, in {rounds}, with {versions}."
    return "\n\n".join([begin, *(section for part in results.parts for section in _render_part(part))])


def _render_part(part: Part) -> Iterator[str]:
    yield f"### {part.title}"
    if part.about:
        yield part.about
    grid = build_grid(part)
    if grid.rows:
        yield render_table(_cells(grid.heading), map(_cells, grid.rows))
    if part.notes:
        yield "\n".join(f"- {escape(note, quote=False)}" for note in part.notes)


def _cells(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(in_cell(escape(text, quote=False)) or " " for text in texts)
