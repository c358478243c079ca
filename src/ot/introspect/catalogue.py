"""One index of tools, packs, snippets and aliases, searched by need or by part of a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.effects import Effect
from ot.registry.definitions import PackDefinition, ToolDefinition
from ot.registry.ranking.index import Hit, ToolIndex
from ot.registry.ranking.searchable import Searchable

_FITS = 0.15
_MOST_WEAK = 5  # tools, where nothing fits well: a reader has to look at each


@dataclass(frozen=True, slots=True)
class Matches:
    """The names of each kind that fit one query, best first; where none does, tools that might."""

    tools: list[Hit] = field(default_factory=list)
    packs: list[Hit] = field(default_factory=list)
    snippets: list[Hit] = field(default_factory=list)
    aliases: list[Hit] = field(default_factory=list)
    weak: list[Hit] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tools or self.packs or self.snippets or self.aliases)


class Catalogue:
    """An index of everything that can be found at one moment."""

    def __init__(self, tools: Sequence[ToolDefinition], packs: Sequence[PackDefinition], config: Config) -> None:
        self._index = ToolIndex([*_tools(tools), *_packs(packs, config), *_snippets(config), *_aliases(tools, config)])

    def find(self, query: str) -> Matches:
        """Find what fits a need in plain words; names that contain the query come first."""
        ranked = self._index.rank(query)
        scores = {hit.key: hit.score for hit in ranked if hit.score >= _FITS}
        part = query.strip().casefold()
        if len(part) > 1 and not any(character.isspace() for character in part):
            for key in self._index.keys:
                name = key.partition(":")[2]
                if part in name.casefold():
                    scores[key] = 1 + len(part) / len(name)
        found = Matches(weak=[] if scores else _tools_of(ranked)[:_MOST_WEAK])
        for key, score in sorted(scores.items(), key=lambda each: -each[1]):
            kind, _, name = key.partition(":")
            getattr(found, kind).append(Hit(name, score))
        return found


def _tools_of(hits: Sequence[Hit]) -> list[Hit]:
    split = ((hit.key.partition(":"), hit.score) for hit in hits)
    return [Hit(name, score) for (kind, _, name), score in split if kind == "tools"]


def _tools(tools: Sequence[ToolDefinition]) -> Iterator[Searchable]:
    for tool in tools:
        text = f"{tool.description} {tool.docs.body}"
        reads = tool.effect is Effect.READS
        yield Searchable.of_schema(f"tools:{tool.name}", tool.pack, tool.tool, text, tool.parameters, reads=reads)


def _packs(packs: Sequence[PackDefinition], config: Config) -> Iterator[Searchable]:
    """Index packs; a pack's name says as much about its tools as about itself, so it counts as a pack's name only."""
    for pack in packs:
        text = f"{pack.description} {config.prompts.packs.get(pack.name, '')}"
        yield Searchable(f"packs:{pack.name}", pack.name, "", text)


def _snippets(config: Config) -> Iterator[Searchable]:
    for name, snippet in config.snippets.items():
        yield Searchable(f"snippets:{name}", "", name, snippet.description)


def _aliases(tools: Sequence[ToolDefinition], config: Config) -> Iterator[Searchable]:
    """Index aliases, each described by the tool it stands for."""
    descriptions = {tool.name: tool.description for tool in tools}
    for name, target in config.aliases.items():
        text = f"{target} {descriptions.get(target, '')}"
        yield Searchable(f"aliases:{name}", target.partition(".")[0], name, text)
