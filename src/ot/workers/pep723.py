"""Inline script metadata (PEP 723): the interpreter and the packages that a file asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from itertools import groupby
from pathlib import Path

from mcp_core.quick_dataclass import dataclass

_OPENING = re.compile(r"# /// ([a-zA-Z0-9-]+)")
_CLOSING = "# ///"
_TYPE = "script"
_MEANT = re.compile(rf"#\s*/{{2,}}\s*{_TYPE}s?\s*", re.IGNORECASE)
_OPTIONS = re.compile(r"#\s*\[\s*tool\s*\.\s*onetool\b")


@dataclass(frozen=True, slots=True)
class ScriptHeader:
    """The block of type `script`."""

    requires_python: str | None = None
    dependencies: tuple[str, ...] = ()
    tool: dict[str, object] = field(default_factory=dict)  # `[tool.uv]` and the like
    text: str = ""  # the TOML itself

    def as_comments(self) -> str:
        lines = "".join(f"# {line}\n" if line else "#\n" for line in self.text.split("\n")[:-1])
        return f"# /// {_TYPE}\n{lines}{_CLOSING}\n"


def read_header(file: Path) -> tuple[ScriptHeader | None, str | None]:
    """Return the header of a file, and what is wrong with it; a file without a header has neither. Never raises."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        return None, f"it cannot be read: {error.strerror or type(error).__name__}"
    except UnicodeDecodeError as error:
        return None, f"its header cannot be read: the file is not UTF-8 (byte {error.start})"
    return parse_header(text)


def parse_header(text: str) -> tuple[ScriptHeader | None, str | None]:
    """Return the header of a source text whose lines end in a line feed, and what is wrong with it."""
    blocks = [content for kind, content in find_blocks(text) if kind == _TYPE]
    if not blocks:
        if any(_MEANT.fullmatch(line.strip()) for line in text.split("\n")):
            return None, (
                f"its script block is malformed: it must begin with exactly `# /// {_TYPE}`, every line in it must "
                f"begin with `# `, and it must end with `{_CLOSING}`"
            )
        return None, _stray_options(text)
    if len(blocks) > 1:
        return None, f"it has {len(blocks)} script blocks; only one is allowed"
    import tomllib  # noqa: PLC0415 - start-up path: no server without extensions should load it

    try:
        values = tomllib.loads(blocks[0])
    except tomllib.TOMLDecodeError as error:
        return None, f"its script block is not TOML: {error}"
    except RecursionError:
        return None, "its script block is nested too deeply"
    requires, dependencies, tool = values.get("requires-python"), values.get("dependencies", []), values.get("tool", {})
    if requires is not None and not isinstance(requires, str):
        return None, "requires-python in its script block is not a string"
    if not isinstance(dependencies, list) or not all(isinstance(item, str) for item in dependencies):
        return None, "dependencies in its script block is not a list of strings"
    if not isinstance(tool, dict):
        return None, "tool in its script block is not a table"
    if "onetool" not in tool and (mistake := _stray_options(text)):
        return None, mistake
    return ScriptHeader(requires, tuple(dependencies), tool, blocks[0]), None


def find_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Return type and content of each block, by the rules of the reference."""
    # A block begins with `# /// type` and goes on as long as lines are `#` or begin with `# `; the last `# ///` among
    # them closes it, and there must be a line in between. What is not closed is no block.
    lines = text.split("\n")  # splitlines() would also split where TOML does not, at U+2028 for instance
    for comments, group in groupby(lines, key=lambda line: line == "#" or line.startswith("# ")):
        run = list(group) if comments else []
        closing = max((index for index, line in enumerate(run) if line == _CLOSING), default=0)
        for index, line in enumerate(run[: max(closing - 1, 0)]):
            if opening := _OPENING.fullmatch(line):
                yield opening[1], "".join(f"{item[2:]}\n" for item in run[index + 1 : closing])
                break  # the closing line is the last, so a run has one block at most


def _stray_options(text: str) -> str | None:
    """Describe options that stand outside the header: without them an extension would run unconfined."""
    if any(_OPTIONS.match(line) for line in text.split("\n")):
        return "[tool.onetool] stands outside its script block; move it between `# /// script` and `# ///`"
    return None


def asks_for_ray(header: ScriptHeader | None) -> bool:
    """True if a header asks for a cluster; one with a mistake does not, and is refused where it is started."""
    options = header.tool.get("onetool") if header is not None else None
    return isinstance(options, dict) and options.get("engine") == "ray"
