"""`python -m scripts.renamed`: fail if the table of renamed keys, commands and tools (`ot.renamed`) is not true."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator

from mcp_core.distribution import VERSION
from onetool.cli import COMMANDS
from ot import renamed
from ot.config.keys import known_keys
from ot.renamed import Renamed
from scripts.pack_extras import ROOT
from scripts.pack_pages import read_packs

_PAGES = ("docs", "publishing", "deploy")


def find_faults(kind: str, table: tuple[Renamed, ...], known: Collection[str], pages: str) -> Iterator[str]:
    """Say what of a table is not so; `known` are today's names, `pages` what people read."""
    for each in table:
        said = f"the {kind} {each.former}"
        if each.former in known:
            yield f"{said} is not renamed: it is there"
        if each.now not in known:
            yield f"{said} is said to be {each.now}, which is not there"
        if kind == "tool" and each.former.partition(".")[0] != each.now.partition(".")[0]:
            yield f"{said} would move to another pack"
        if _order(each.until) <= _order(VERSION):
            yield f"{said} was to go with {each.until}: remove it from src/ot/renamed.py"
        written = {"command": f"onetool {each.former}"}.get(kind, each.former)
        if re.search(rf"(?<![\w.]){re.escape(written)}(?![\w.]*\w)", pages):
            yield f"{said} is still on a page"


def main() -> int:
    files = [ROOT / "README.md", *(file for folder in _PAGES for file in (ROOT / folder).rglob("*.md"))]
    pages = "\n".join(file.read_text(encoding="utf-8") for file in files)
    tools = [f"{pack.name}.{tool}" for pack in read_packs() for tool in pack.tools]
    faults = [
        *find_faults("key", renamed.KEYS, [".".join(key.path) for key in known_keys()], pages),
        *find_faults("command", renamed.COMMANDS, COMMANDS, pages),
        *find_faults("tool", renamed.TOOLS, tools, pages),
    ]
    sys.stderr.write("".join(f"src/ot/renamed.py: {fault}\n" for fault in faults))
    return int(bool(faults))


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    sys.exit(main())
