"""The parts of docs/packs that are derived from the packs themselves: a table of tools a page, and one of all packs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ot.effects import Effect
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition
from scripts.pack_extras import PACKS, ROOT, list_files, read_once

FOLDER = ROOT / "docs" / "packs"
INDEX = FOLDER / "README.md"
_ELSEWHERE = {"ot": "../ot.md"}  # packs whose page is older than this folder
_HIDDEN = {"demo"}  # for trying things out and for tests; people do not have it
_TOOLS = re.compile(r"^## Tools\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PACKS = re.compile(r"^\| pack \|.*?\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)
_EFFECTS = {Effect.READS: "reads", Effect.IDEMPOTENT: "changes; can be repeated", Effect.UNKNOWN: "changes"}


def read_packs() -> list[PackDefinition]:
    """Return the packs that people have, by name."""
    return [pack for pack in map(read_once, list_files(PACKS)) if pack.name not in _HIDDEN]


def render_pack_pages() -> dict[Path, str]:
    """Return every page as it should be; what people wrote in it stays."""
    packs = read_packs()
    pages = {FOLDER / f"{pack.name}.md": pack for pack in packs if pack.name not in _ELSEWHERE}
    rendered = {page: _with_tools(page, pack) for page, pack in pages.items()}
    return rendered | {INDEX: _PACKS.sub(lambda _: _render_packs(packs), INDEX.read_text(encoding="utf-8"))}


def _with_tools(page: Path, pack: PackDefinition) -> str:
    text = page.read_text(encoding="utf-8") if page.exists() else f"# {pack.name}\n\n{pack.description}\n"
    section = _render_tools(pack)
    if _TOOLS.search(text) is None:
        return f"{text.rstrip()}\n\n{section}"
    return _TOOLS.sub(lambda match: section + ("" if match.end() == len(text) else "\n"), text)


def _render_tools(pack: PackDefinition) -> str:
    rows = "".join(
        f"| `{_call(tool)}` | {_in_cell(tool.description)} | {_words_of(tool)} |\n" for tool in pack.tools.values()
    )
    return f"## Tools\n\n| tool | what it does | effect |\n|---|---|---|\n{rows}\n{_words_of_libraries(pack)}\n"


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _call(tool: ToolDefinition) -> str:
    required, properties = tool.parameters.get("required", []), tool.parameters["properties"]
    assert isinstance(required, list)
    assert isinstance(properties, dict)
    names = (name if name in required else f"{name}=…" for name in properties)
    return f"{tool.name}({', '.join(names)})"


def _words_of(tool: ToolDefinition) -> str:
    return "; ".join((_EFFECTS[tool.effect], *_words_of_process(tool)))


def _words_of_process(tool: ToolDefinition) -> Iterator[str]:
    if tool.cancellation is not Cancellation.ISOLATED:
        return
    touches = tool.touches
    named = {"reads": touches.reads, "writes": touches.writes, "makes": touches.outputs, "connects to": touches.hosts}
    opened = [f"{verb} {', '.join(f'`{place}`' for place in places)}" for verb, places in named.items() if places]
    yield f"in a process that {' and '.join(opened) or 'reads and writes nothing'}"


def _words_of_libraries(pack: PackDefinition) -> str:
    if pack.libraries is None:
        return "It needs no further libraries."
    needed = ", ".join(f"`{requirement}`" for requirement in pack.libraries.requirements)
    how = f"`onetool fetch {pack.libraries.pack}`"
    return f"It needs {needed}, which its first call installs; {how} does that before."


def _render_packs(packs: list[PackDefinition]) -> str:
    rows = (
        f"| [{pack.name}]({_ELSEWHERE.get(pack.name, f'{pack.name}.md')}) | {_in_cell(pack.description)} "
        f"| {', '.join(f'`{tool}`' for tool in pack.tools)} | {_requirements(pack)} |\n"
        for pack in packs
    )
    return f"| pack | about | tools | libraries |\n|---|---|---|---|\n{''.join(rows)}"


def _requirements(pack: PackDefinition) -> str:
    return ", ".join(f"`{need}`" for need in pack.libraries.requirements) if pack.libraries is not None else "none"
