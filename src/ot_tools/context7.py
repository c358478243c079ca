"""Documentation of libraries, up to date and by version, from Context7."""

from __future__ import annotations

import re
from typing import TypedDict

from anyio import to_thread

from mcp_core.json_types import Json
from ot.effects import best_first, reads
from ot.errors import ServiceRefusedError, ToolError
from ot.files.allowed_files import allowed_files
from ot_packs.context7 import choose_version, find_locked
from ot_packs.limits import as_number
from ot_packs.locks import read_locked_versions
from ot_packs.net.calling import ServiceClient, open_service
from ot_packs.net.services import Service
from ot_packs.net.values import items_of, number_of, text_of, texts_of

pack = "context7"
secrets = ("CONTEXT7_API_KEY",)
timeout = 60

_CONTEXT7 = Service(
    pack=pack,
    name="Context7",
    base_url="https://context7.com/api",
    secret="CONTEXT7_API_KEY",
    page="https://context7.com/dashboard",
    key_required=False,
    rate=2.0,
)
_ID = re.compile(r"/[\w.@-]+/[\w.@-]+(?:/[\w.@+-]+)?", re.ASCII)
_LONGEST_QUERY = 500  # characters


class Library(TypedDict):
    """A library with documentation; `locked` is the version in the project's lock files, if they name it."""

    id: str
    name: str
    description: str
    versions: list[str]
    locked: str
    snippets: int
    trust: int


class Libraries(TypedDict):
    libraries: list[Library]
    total: int
    more: bool


class Documentation(TypedDict):
    """Passages of a library's documentation; `version` is "" for the newest."""

    library: str
    version: str
    locked: str
    text: str
    total: int
    more: bool


@reads
@best_first
async def search(*, query: str, topic: str = "", limit: int | None = 10) -> Libraries:
    """Find libraries by name, with their documented versions and the version that this project uses.

    Args:
        query: The name of a library: "pydantic", "next.js".
        topic: What you want to know about it; affects the order of the results.
        limit: Maximum number of libraries; None for all.

    Returns:
        The `libraries` with `id`, `name`, `description`, `versions`, the project's own `locked` version, `snippets` and
        `trust` (0 to 10); their `total`, and whether there are `more`.

    Example:
        [(library["id"], library["locked"]) for library in context7.search(query="pydantic")["libraries"]]
    """
    limit = as_number(limit)
    async with open_service(_CONTEXT7) as service:
        found = await _find(service, query, topic)
    return {"libraries": found[:limit], "total": len(found), "more": len(found) > limit}


@reads
async def docs(
    *, library: str, topic: str, version: str | None = None, limit: int | None = 20_000, offset: int = 0
) -> Documentation:
    """Read what a library's documentation says about a topic, with code examples.

    Args:
        library: Its id, such as "/pydantic/pydantic", or its name, which selects the best match.
        topic: What you want to know, in words.
        version: A version listed by `context7.search`; "locked" is the one in the project's lock file.
        limit: Maximum number of characters; None for all.
        offset: Number of characters to skip.

    Returns:
        `text`, and whether there is `more` of its `total` characters; the `library`, its `version`, and the version
        that the project has `locked`.

    Example:
        context7.docs(library="pydantic", topic="validators", version="locked")["text"]
    """
    limit = as_number(limit, offset=offset)
    if not topic.strip():
        raise ToolError("topic is empty: say what you want to know")
    async with open_service(_CONTEXT7) as service:
        chosen, tag = await _choose(service, library, topic, version)
        text = await _read(service, f"{chosen['id']}/{tag}" if tag else chosen["id"], topic)
    end = offset + limit
    own, locked, total = chosen["id"], chosen["locked"], len(text)
    return Documentation(library=own, version=tag, locked=locked, text=text[offset:end], total=total, more=end < total)


async def _choose(service: ServiceClient, library: str, topic: str, version: str | None) -> tuple[Library, str]:
    """Return the library that is meant, and the version as it is named there; "" for the newest."""
    if library.startswith("/") and not _ID.fullmatch(library):
        raise ToolError(f"{library[:100]!r} is not an id such as '/pydantic/pydantic'; context7.search finds them")
    named, _, own = library[1:].partition("/")[2].partition("/") if library.startswith("/") else (library, "", "")
    base = library.removesuffix(f"/{own}") if own else library
    found = await _find(service, named, topic)
    fitting = [each for each in found if each["id"].lower() == base.lower()] if library.startswith("/") else found
    if not fitting:
        near = ", ".join(each["id"] for each in found[:5]) or "none of a similar name"
        raise ToolError(f"Context7 has no library {library[:100]!r}; it has {near}")
    chosen = fitting[0]
    wanted = version or own
    return chosen, choose_version(wanted, chosen["versions"], locked=chosen["locked"]) if wanted else ""


async def _find(service: ServiceClient, name: str, topic: str) -> list[Library]:
    if not name.strip():
        raise ToolError("the name of the library is empty")
    words = (topic.strip() or name)[:_LONGEST_QUERY]
    answer = await service.get("v2/libs/search", {"query": words, "libraryName": name[:_LONGEST_QUERY]})
    locked = await to_thread.run_sync(read_locked_versions, allowed_files())
    return [_library(item, locked) for item in items_of(answer, "results") if _ID.fullmatch(text_of(item, "id"))]


def _library(item: Json, locked: dict[str, str]) -> Library:
    own = text_of(item, "id")
    title = text_of(item, "title", limit=200)
    return {
        "id": own,
        "name": title,
        "description": text_of(item, "description", limit=500),
        "versions": texts_of(item, "versions", limit=100)[:200],
        "locked": find_locked(locked, own.rpartition("/")[2], title),
        "snippets": number_of(item, "totalSnippets"),
        "trust": number_of(item, "trustScore"),
    }


async def _read(service: ServiceClient, library: str, topic: str) -> str:
    try:
        text = await service.get_text("v2/context", {"query": topic[:2000], "libraryId": library, "type": "txt"})
    except ServiceRefusedError as error:
        if error.status == 404:
            raise ToolError(f"Context7 has no documentation of {library}; context7.search finds libraries") from error
        raise
    if not text.strip():
        raise ToolError(f"the documentation of {library} says nothing about this topic; try other words")
    return text
