"""The benchmarks that there are, by the first line of each file."""

from __future__ import annotations

import ast

from scripts.pack_extras import ROOT
from scripts.reference.tables import in_cell, render_table


def render_benchmarks() -> str:
    files = sorted((ROOT / "bench").glob("bench_*.py"))
    about = (
        (file.stem.removeprefix("bench_"), ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))))
        for file in files
    )
    return render_table(
        ("name", "measures"), ((f"`{name}`", in_cell((words or "").partition("\n\n")[0])) for name, words in about)
    )
