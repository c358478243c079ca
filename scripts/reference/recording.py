"""The recording in README: commands in a terminal and what they really print, as an SVG that moves.

The commands run in a folder of their own, for a person who has nothing else; their answers have no times in them, so
the recording is the same each time it is made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from html import escape
from pathlib import Path

from scripts.reference.tables import open_svg

_ORDERS = "day,city,amount\n" + "".join(
    f"2026-11-{day:02},{city},{(day * 37 + number * 11) % 90 + 10}\n"
    for day in range(1, 31)
    for number, city in enumerate(("Oslo", "Lima", "Kobe", "Bern"))
)
_SESSION = r"""
# 120 orders. The model writes code; only the answer enters its context.
onetool run '
import csv, io
rows = csv.DictReader(io.StringIO("\n".join(
    file.read(path="orders.csv")["lines"])))
total = {}
for row in rows:
    total[row["city"]] = total.get(row["city"], 0) + int(row["amount"])
total'

# A mistake is caught before anything happens, and says what to do next.
onetool run 'file.write(path="total.txt", content="6480\n"); file.remove(path="notes.txt")'

# See what code would do before it does it.
onetool run --preview 'file.write(path="total.txt", content="6480\n"); file.delete(path="notes.txt")'
"""
_WIDTH, _LINE, _TOP, _LEFT = 860, 19, 44, 18
_COLUMNS = 104
_TYPING, _READING = 0.7, 3.2  # seconds for a line of a command, and after an answer
_STYLE = """
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d7dde4; white-space: pre;
         opacity: 0; animation: come 0.01s linear forwards }
  .typed { fill: #ffffff } .prompt { fill: #2cc0b0 } .said { fill: #9aa5b1 } .paper { fill: #10161d }
  .dot { fill: #323f4b }
  @keyframes come { to { opacity: 1 } }
  @media (prefers-reduced-motion: reduce) { text { animation-delay: 0s !important } }
"""


def render_recording() -> str:
    """Run the commands, and draw what a person would see of them."""
    lines: list[tuple[str, str, float]] = []  # class, text, and the second at which it appears
    now = 0.5
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "orders.csv").write_text(_ORDERS, encoding="utf-8")
        Path(folder, "notes.txt").write_text("Add them up by city.\n", encoding="utf-8")
        for said, *typed in (part.splitlines() for part in _SESSION.strip().split("\n\n")):
            lines.append(("said", said, now))
            for number, line in enumerate(typed):
                now += _TYPING
                lines.append(("typed", f"{'>' if number else '$'} {line}", now))
            now += _TYPING
            lines += [("", line, now) for line in _answer("\n".join(typed), Path(folder)).splitlines()]
            now += _READING
    return _draw(lines)


def _answer(command: str, folder: Path) -> str:
    environ = {
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "LANG": "C.UTF-8",
    }
    finished = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    said = re.sub(r"(Preview |preview=\")r[a-z0-9]{8}", r"\1r7k2m9xqd", finished.stdout or finished.stderr)
    lines = [
        part for line in said.strip().splitlines() for part in textwrap.wrap(line, _COLUMNS, drop_whitespace=False)
    ]
    return "\n".join(lines) + "\n\n"


def _draw(lines: list[tuple[str, str, float]]) -> str:
    height = _TOP + _LINE * len(lines) + 6
    drawn = [
        open_svg(_WIDTH, height, "Three commands in a terminal: a sum, a mistake that is explained, and a preview"),
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="8"/>',
        *(f'<circle class="dot" cx="{_LEFT + 6 + 18 * number}" cy="18" r="5"/>' for number in range(3)),
    ]
    for number, (kind, text, second) in enumerate(lines):
        attributes = f'class="{kind}" ' if kind else ""
        place = f'x="{_LEFT}" y="{_TOP + _LINE * number + 8}" style="animation-delay:{second:.1f}s"'
        drawn.append(f"<text {attributes}{place}>{escape(text, quote=False)}</text>")
    return "\n".join([*drawn, "</svg>"]) + "\n"
