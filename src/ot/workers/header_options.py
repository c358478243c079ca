"""`[tool.onetool]` in the header of an extension: the keys it may have, and how a mistake in one is worded."""

from __future__ import annotations

from mcp_core.json_types import JsonObject
from ot.config.reading import SettingsError
from ot.workers.pep723 import ScriptHeader

CONFINE = "confine"
PLACEMENT = ("engine", "cpus", "gpus", "memory", "resources")


class HeaderMistakeError(Exception):
    """The header has an option that cannot be read; the text says where, and what would be right."""


def read_options(header: ScriptHeader) -> JsonObject:
    """Return the options as they stand in the header; raises HeaderMistakeError if one of them is unknown."""
    options = header.tool.get("onetool", {})
    if not isinstance(options, dict):
        raise HeaderMistakeError("onetool in its header is not a table; write [tool.onetool]")
    unknown = sorted(set(options) - {CONFINE, *PLACEMENT})
    if unknown:
        raise HeaderMistakeError(
            f"[tool.onetool] in its header has the key `{unknown[0]}`; the keys are {', '.join((CONFINE, *PLACEMENT))}"
        )
    return options


def word_mistake(error: SettingsError, *within: str) -> HeaderMistakeError:
    """Return the first mistake of options that did not fit; `within` is the key that they stand under."""
    first = error.problems[0]
    key = ".".join((*within, *first.place))
    return HeaderMistakeError(f"{key or '[tool.onetool]'} in its header: {first.reason}; {first.fix}")
