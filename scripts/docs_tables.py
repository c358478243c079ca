"""Writes what the docs derive from the source: `make docs`, or `python -m scripts.docs_tables`.

A page has `<!-- derived: NAME -->` and `<!-- end of NAME -->` around what the function of that name gives; what people
wrote around it stays. The pages of packs have a section of their own (`scripts.pack_pages`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scripts.pack_extras import ROOT
from scripts.pack_pages import render_pack_pages
from scripts.reference.benchmark_results import render_benchmark_results, render_comparison
from scripts.reference.benchmarks import render_benchmarks
from scripts.reference.commands import render_commands
from scripts.reference.errors import render_errors
from scripts.reference.keys import render_keys
from scripts.reference.layers import render_import_rules, render_layers
from scripts.reference.recording import render_recording
from scripts.reference.run_code import render_limits, render_system_calls, render_values
from scripts.reference.token_picture import render_token_picture
from scripts.reference.worker_protocol import render_error_codes
from scripts.shop_window import render_links, render_shop_window

DOCS = ROOT / "docs"
DERIVED: dict[str, Callable[[], str]] = {
    "benchmark results": render_benchmark_results,
    "benchmarks": render_benchmarks,
    "commands": render_commands,
    "comparison": render_comparison,
    "error codes": render_error_codes,
    "errors": render_errors,
    "import rules": render_import_rules,
    "keys": render_keys,
    "layers": render_layers,
    "limits": render_limits,
    "links": render_links,
    "system calls": render_system_calls,
    "values": render_values,
}
_SIGN = "<!-- derived: "
_BEGIN, _END = _SIGN + "{} -->\n", "<!-- end of {} -->\n"


def render_pages() -> dict[Path, str]:
    """Return every page, and every file of the shop window, that is derived, as it should be."""
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))} | render_shop_window()
    derived = {page: _with_derived(text) if _SIGN in text else text for page, text in texts.items()}
    pictures = {"tokens": render_token_picture, "recording": render_recording}
    drawn = {DOCS / "assets" / f"{name}.svg": render() for name, render in pictures.items()}
    return derived | render_pack_pages() | drawn


def _with_derived(text: str) -> str:
    for name, render in DERIVED.items():
        begin, end = _BEGIN.format(name), _END.format(name)
        if begin in text:
            head, _, rest = text.partition(begin)
            text = f"{head}{begin}\n{render()}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    for file, content in render_pages().items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
