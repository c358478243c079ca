"""The names of tools in a server's own sentences, which write a tool in backticks without its prefix."""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUOTED = re.compile(r"`(\w+)`")


def with_final_names(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence with the names that clients know; `names` maps each tool to its final name."""
    return _QUOTED.sub(lambda found: f"`{names.get(found[1], found[1])}`", text)
