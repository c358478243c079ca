"""The prompts and resources of servers that fit a request, named below the tools that do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mcp_core.json_types import Json
from ot.introspect.help_text import shorten
from ot.proxy import Listed

_MOST = 3  # of one request
_LINE = 160  # characters
_FITS = 0.6  # of the words of a request
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset({"and", "for", "from", "get", "list", "read", "show", "the", "with"})


def name_contents(listed: Listed, queries: Sequence[str]) -> str:
    """Return lines that name what fits, with the way to use it from code; empty where nothing does."""
    lines = [line for query in queries for line in _fitting(listed, query)]
    return "\n".join(["Prompts and resources of servers:", *dict.fromkeys(lines)]) if lines else ""


def _fitting(listed: Listed, query: str) -> list[str]:
    words = {*_WORD.findall(query.casefold())} - _COMMON
    if not words:
        return []
    scored = [(len(words & {*_WORD.findall(text.casefold())}) / len(words), line) for text, line in _texts(listed)]
    return [line for score, line in sorted(scored, key=lambda pair: -pair[0])[:_MOST] if score >= _FITS]


def _texts(listed: Listed) -> Iterator[tuple[str, str]]:
    for item in listed.prompts:
        if (owned := listed.find_prompt(str(item["name"]))) is not None:
            yield _describe(item, f"ot.prompts(name={owned.name!r}, server={owned.server!r})")
    for item in listed.resources:
        yield _describe(item, f"ot.read(uri={str(item['uri'])!r})")


def _describe(item: Mapping[str, Json], use: str) -> tuple[str, str]:
    words = " ".join(str(item[key]) for key in ("title", "description") if item.get(key))
    return f"{item['name']} {words} {item.get('uri', '')}", shorten(f"- {use}: {words or item['name']}", _LINE)
