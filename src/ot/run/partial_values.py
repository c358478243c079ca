"""Calls of a run that gave only a part, and whose code did not look at that: the answer says so, once a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mcp_core.json_types import mapping_of
from mcp_core.quick_dataclass import dataclass
from ot.effects import Effect
from ot.errors import CallError
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot_kernel.wire import Message

_MOST = 8  # tools that are named
_SHOWN = re.compile(r"""["']more["']: ?true\b""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PartialValue:
    """The first of the values that a tool gave in part; the kernel's word, so nothing depends on it but a note."""

    tool: str
    what: str  # rows, characters, ...; empty where that is not known
    count: int
    total: int  # 0 where that is not known
    returned: bool  # it is in the result of the run, whole
    taken: bool  # the code has read from it
    calls: int  # that gave such values


def read_partial(message: Message) -> tuple[PartialValue, ...]:
    """Read what the kernel says about parts; raises ValueError or TypeError for what it cannot mean."""
    return tuple(
        PartialValue(str(tool), str(what)[:40], int(count), int(total), bool(returned), bool(taken), int(calls))
        for tool, what, count, total, returned, taken, calls in message.get("parts", ())
    )


def word_partial(values: Iterable[PartialValue], registry: ToolRegistry, answer: str, *, whole: bool) -> Iterator[str]:
    """Say what was given, and how to have the rest; not of what an answer shows that shows the `whole` result."""
    if _SHOWN.search(answer):
        return
    told: set[str] = set()
    for value in values:
        if (value.returned and whole) or value.tool in told or len(told) == _MOST:
            continue
        try:
            definition = registry.get(value.tool)
        except CallError:  # it has gone since
            continue
        if definition.best_first or (definition.effect is Effect.UNKNOWN and not value.taken):
            continue
        told.add(value.tool)
        yield f"[{value.tool} gave {_word_part(value)}, and the code did not look at `more`.{_word_way(definition)}]"


def _word_part(value: PartialValue) -> str:
    others = f" (the first of {value.calls:,} such values)" if value.calls > 1 else ""
    if not value.what:
        return f"only a part{others}"
    if not value.total:
        return f"the first {value.count:,} {value.what}{others}"
    return f"{value.what} 1 to {value.count:,} of {value.total:,}{others}"


def _word_way(definition: ToolDefinition) -> str:
    """Say how to have all of it, by the parameters that the tool has."""
    parameters = mapping_of(definition.parameters.get("properties"))
    if "limit" not in parameters and "offset" not in parameters:
        return ""
    kinds = mapping_of(parameters.get("limit")).get("type")
    ways = ["limit=None gives all of it at once"] if isinstance(kinds, list) and "null" in kinds else []
    if "offset" in parameters:
        ways.insert(0, f"ot.pages({definition.name}, ...) iterates over all parts")
    return f" {'; '.join(ways) or 'A larger limit gives more'}."
