"""`[tool.onetool]` in the header of an extension: the keys it may have, and how a mistake in one is worded."""

from __future__ import annotations

from pydantic import ValidationError

from mcp_core.json_types import JsonObject
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


def word_mistake(error: ValidationError, *within: str) -> HeaderMistakeError:
    """Return the first mistake of options that did not fit; `within` is the key that they stand under."""
    first = error.errors(include_input=False, include_url=False)[0]
    key = ".".join(map(str, (*within, *first["loc"])))
    fix = first.get("ctx", {}).get("fix")
    reason = f"{key} in its header: {first['msg']}" if key else f"[tool.onetool] in its header: {first['msg']}"
    return HeaderMistakeError(f"{reason}; {fix}" if fix else reason)
