"""The prompts and resources of servers that fit a request, named below the tools that do.

A listing of tools or packs names them in a note: those whose server or name has its pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_core.json_types import Json
from ot.context import CallContext
from ot.introspect.help_text import shorten
from ot.introspect.listings import contains
from ot.proxy import Servers

if TYPE_CHECKING:
    from ot.proxy import Listed

_MOST = 3  # of one request
_LINE = 160  # characters
_FITS = 0.6  # of the words of a request
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset({"and", "for", "from", "get", "list", "read", "show", "the", "with"})


async def name_contents(context: CallContext, queries: Sequence[str]) -> str:
    """Return lines that name what fits, with the way to use it from code; empty where nothing does."""
    listed = await _listed(context)
    lines = [line for query in queries for line in _fitting(listed, query)] if listed is not None else []
    return "\n".join(["Prompts and resources of servers:", *dict.fromkeys(lines)]) if lines else ""


async def note_contents(context: CallContext, pattern: str) -> None:
    """Name what a listing of tools with this pattern does not show; a listing of everything does not mention it."""
    listed = await _listed(context) if pattern else None
    found = [use for _, name, use in _uses(listed) if contains(name, pattern)] if listed is not None else []
    named = [use for use in found if len(use) <= _LINE][:_MOST]
    if found:
        left = len(found) - len(named)
        more = [f"{left:,}{' more' if named else ''}, see ot.prompts() and ot.resources()"] if left else []
        context.note(f"[Prompts and resources of servers, which are no tools: {', '.join([*named, *more])}.]")


async def _listed(context: CallContext) -> Listed | None:
    servers = context.part(Servers)
    return await servers.listed() if servers.choose() else None


def _fitting(listed: Listed, query: str) -> list[str]:
    words = {*_WORD.findall(query.casefold())} - _COMMON
    if not words:
        return []
    scored = [(len(words & {*_WORD.findall(text.casefold())}) / len(words), line) for text, line in _texts(listed)]
    return [line for score, line in sorted(scored, key=lambda pair: -pair[0])[:_MOST] if score >= _FITS]


def _texts(listed: Listed) -> Iterator[tuple[str, str]]:
    for item, _, use in _uses(listed):
        words = " ".join(str(item[key]) for key in ("title", "description") if item.get(key))
        yield f"{item['name']} {words} {item.get('uri', '')}", shorten(f"- {use}: {words or item['name']}", _LINE)


def _uses(listed: Listed) -> Iterator[tuple[Mapping[str, Json], str, str]]:
    """Give each prompt and resource with its server's name and its own, as those of a tool, and the way to use it."""
    for item in listed.prompts:
        if (owned := listed.find_prompt(str(item["name"]))) is not None:
            yield item, str(item["name"]), f"ot.prompts(name={owned.name!r}, server={owned.server!r})"
    for item in listed.resources:
        if (owned := listed.find_address(str(item["uri"]))) is not None:
            yield item, f"{owned.server}.{item['name']}", f"ot.read(uri={str(item['uri'])!r})"
