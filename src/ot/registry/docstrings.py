"""Google style docstrings taken apart: summary, arguments, returns, example, and the rest."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from ot.registry.definitions import ToolDocs

_SECTION = re.compile(r"(?i)(args|arguments|parameters|returns?|yields?|examples?|raises|notes?|warnings?):\s*(.*)")
_NAMES = {
    "args": "arguments", "parameters": "arguments", "return": "returns", "yield": "returns", "yields": "returns",
    "examples": "example", "note": "notes", "warning": "warnings",
}  # fmt: skip
_ARGUMENT = re.compile(r"\*{0,2}([A-Za-z_]\w*)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def parse_docstring(text: str | None) -> ToolDocs:
    """Read a docstring; a section that is not there stays empty, unknown text stays in the body."""
    if text and is_one_line(text):
        return ToolDocs(summary=" ".join(text.split()))
    sections = _split(inspect.cleandoc(text or "").splitlines())
    first, _, rest = "\n".join(sections[""]).strip().partition("\n\n")
    return ToolDocs(
        summary=" ".join(first.split()),
        arguments=_parse_arguments(sections.get("arguments", [])),
        returns=_join(sections.get("returns", [])),
        example=_block(sections.get("example", [])),
        body=rest.strip(),
    )


def is_one_line(text: str) -> bool:
    """True if a docstring is its summary and nothing else."""
    return "\n" not in text and not _SECTION.fullmatch(text.strip())


def drop_arguments(text: str) -> str:
    """Return a docstring without its section about arguments, and everything else as it is."""
    labelled = _labelled(inspect.cleandoc(text).splitlines())
    return "\n".join(line for section, line in labelled if section != "arguments").strip()


def _labelled(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line after the name of its section; a section ends at the next line that is not indented."""
    section = ""
    for line in lines:
        if line and not line[0].isspace():
            heading = _SECTION.fullmatch(line)
            name = heading[1].lower() if heading else ""
            section = _NAMES.get(name, name)
        yield section, line


def _split(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines by section, without headings; text may follow a heading on its line."""
    sections: dict[str, list[str]] = {"": []}
    for section, line in _labelled(lines):
        texts = sections.setdefault(section, [])
        heading = _SECTION.fullmatch(line)
        if heading is None or heading[2]:
            texts.append(line if heading is None else heading[2])
    return sections


def _parse_arguments(lines: list[str]) -> dict[str, str]:
    """`name: text` or `name (type): text`, continued on lines that are indented further."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in _block(lines).splitlines():
        start = None if line.startswith((" ", "\t")) else _ARGUMENT.fullmatch(line)
        if start:
            name = start[1]
            found[name] = [start[2]]
        elif name:
            found[name].append(line)
    return {name: _join(texts) for name, texts in found.items()}


def _block(lines: list[str]) -> str:
    """The text with its common indentation taken off."""
    return inspect.cleandoc("\n" + "\n".join(lines)).strip() if lines else ""


def _join(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
