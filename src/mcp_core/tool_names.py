"""The names of a server's tools in its own sentences, where a tool stands in backticks under its undecorated name."""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUOTED = re.compile(r"`(\w+)`")


def with_final_names(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence that names tools as clients know them; `names` has the final name of each."""
    return _QUOTED.sub(lambda found: f"`{names.get(found[1], found[1])}`", text)
