"""The picture at the top of README: the tokens of whole tasks, with seven servers and with OneTool, as measured."""

from __future__ import annotations

from html import escape
from statistics import median

from bench.figures import Row, Table, read_results
from bench.side_by_side import KEPT
from scripts.reference.tables import open_svg

_PART = "Tokens that enter the context in a whole task"
_DIRECT, _THROUGH_RUN = "direct, all seven servers", "through run, all seven servers"
_WIDTH, _LABELS, _ROW, _TOP = 760, 300, 34, 58
_BARS = _WIDTH - _LABELS - 90
_STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2933 }
  .title { font-size: 15px; font-weight: 600 } .quiet { fill: #52606d }
  .paper { fill: #ffffff } .direct { fill: #b8c4ce } .run { fill: #0f8a7e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .quiet { fill: #9aa5b1 }
    .paper { fill: #10161d } .direct { fill: #52606d } .run { fill: #2cc0b0 }
  }
"""


def render_token_picture() -> str:
    """Draw it as SVG, for light and for dark pages."""
    tasks = [(row.name, _tokens(row, _DIRECT), _tokens(row, _THROUGH_RUN)) for row in _table().rows]
    most = max(direct for _, direct, _ in tasks)
    times = median(direct / run for _, direct, run in tasks)
    title = f"Twelve tasks: {times:.0f} times fewer tokens in the context"
    height = _TOP + _ROW * len(tasks) + 12
    lines = [
        open_svg(_WIDTH, height, title),
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
        '<rect class="direct" x="16" y="37" width="11" height="11" rx="2"/>',
        '<text class="quiet" x="33" y="47">seven MCP servers connected directly</text>',
        '<rect class="run" x="290" y="37" width="11" height="11" rx="2"/>',
        '<text class="quiet" x="307" y="47">the same servers behind OneTool</text>',
    ]
    for number, (name, direct, run) in enumerate(tasks):
        y = _TOP + _ROW * number
        lines.append(f'<text x="16" y="{y + 20}">{escape(name)}</text>')
        lines += _draw_bar("direct", y + 4, direct, most)
        lines += _draw_bar("run", y + 17, run, most)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _table() -> Table:
    [table] = [part for part in read_results(KEPT).parts if isinstance(part, Table) and part.title == _PART]
    return table


def _tokens(row: Row, column: str) -> float:
    found = row.figures[_table().columns.index(column)].median
    assert found is not None, row.name
    return found


def _draw_bar(kind: str, y: int, tokens: float, most: float) -> list[str]:
    width = max(2.0, _BARS * tokens / most)
    return [
        f'<rect class="{kind}" x="{_LABELS}" y="{y}" width="{width:.1f}" height="12" rx="2"/>',
        f'<text class="quiet" x="{_LABELS + width + 6:.1f}" y="{y + 10}">{tokens:,.0f}</text>',
    ]
