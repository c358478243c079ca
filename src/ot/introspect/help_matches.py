"""The results of a search as text, by kind and best first, within the room there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.introspect.catalogue import Found
from ot.introspect.help_text import describe_tool, fit, shorten
from ot.introspect.listings import Info, SignatureOf
from ot.introspect.refused_tools import MarkTool
from ot.registry.ranking.index import MOST_NEAR, Hit
from ot.registry.registry import ToolRegistry

_MOST_TOOLS = {"list": 40, "min": 10, "full": 3}
_MOST_OTHERS = 5
_SIGNATURES = 3  # go with the best tools, so that they can be called at once
_LINE = 200  # characters of a description
_FEWEST = 400  # characters for tools, whatever else was found

Entry = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Shown:
    """What there is, and how its tools are shown."""

    registry: ToolRegistry
    config: Config
    signature_of: SignatureOf
    mark: MarkTool


def describe_matches(found: Found, info: Info, shown: Shown, *, room: int) -> str:
    """Describe tools, packs, snippets and aliases; tools get the room that the others leave."""
    config = shown.config

    def pack(name: str) -> str:
        return f"{name}: {_one_line(shown.registry.pack(name).description)}"

    def snippet(name: str) -> str:
        return f"${name}: {_one_line(config.snippets[name].description)}"

    def alias(name: str) -> str:
        return f"{name} -> {config.aliases[name]}"

    others = [
        _group("Packs", found.packs, info, pack, "All of them: ot.packs()"),
        _group("Snippets", found.snippets, info, snippet, "All of them: ot.snippets()"),
        _group("Aliases", found.aliases, info, alias, "All of them: ot.aliases()"),
    ]
    left = max(room - sum(map(len, others)), _FEWEST)
    tools = _tools(found.tools, info, shown, left)
    return "\n\n".join(part for part in (tools, *others) if part)


def _tools(hits: Sequence[Hit], info: Info, shown: Shown, room: int) -> str:
    if not hits:
        return ""
    signature_of = shown.signature_of
    entries = []
    for number, hit in enumerate(hits[: _MOST_TOOLS[info]]):
        tool = shown.mark(shown.registry.get(hit.key))
        if info == "full":
            entries.append(
                f"{describe_tool(tool, info, docs_url=shown.config.docs_url, signature=signature_of(tool))}\n"
            )
        elif info == "list":
            entries.append(tool.name)
        else:
            signature = f"\n  {shorten(signature_of(tool), 3 * _LINE)}" if number < _SIGNATURES else ""
            entries.append(f"- {tool.name}: {_one_line(tool.description)}{signature}")
    narrow = 'Ask more exactly, or list names: ot.tools(pattern="...", info="list")'
    count = f"{MOST_NEAR} or more" if len(hits) >= MOST_NEAR else str(len(hits))
    return f"Tools:\n{fit(entries, room, of=len(hits), narrow=narrow, count=count)}"


def _group(heading: str, hits: Sequence[Hit], info: Info, entry: Entry, narrow: str) -> str:
    if not hits:
        return ""
    entries = [hit.key if info == "list" else f"- {entry(hit.key)}" for hit in hits[:_MOST_OTHERS]]
    return f"{heading}:\n{fit(entries, _MOST_OTHERS * _LINE, of=len(hits), narrow=narrow)}"


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _LINE)
