"""Addresses of the packs' documentation."""

from __future__ import annotations

from urllib.parse import quote

_SLUGS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
}


def documentation_url(pack: str, base: str) -> str:
    """Return the page of a pack below `docs_url`; most pages have their pack's name."""
    return f"{base.rstrip('/')}/{quote(_SLUGS.get(pack, pack))}/"
