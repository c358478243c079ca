"""Tools, packs, snippets and aliases, indexed: what fits a need, also where it is misspelled, or part of a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ot.config.models import Config
from ot.registry.definitions import PackDefinition, ToolDefinition
from ot.registry.ranking.index import Hit, ToolIndex
from ot.registry.ranking.searchable import Searchable

_WORTH_SHOWING = 0.2


@dataclass(frozen=True, slots=True)
class Found:
    """Names of each kind that fit one query, best first."""

    tools: tuple[Hit, ...]
    packs: tuple[Hit, ...]
    snippets: tuple[Hit, ...]
    aliases: tuple[Hit, ...]

    def __bool__(self) -> bool:
        return bool(self.tools or self.packs or self.snippets or self.aliases)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that can be found, indexed, at one moment."""

    tools: ToolIndex
    packs: ToolIndex
    snippets: ToolIndex
    aliases: ToolIndex

    def find(self, query: str) -> Found:
        """What fits a need, in plain words or as a part of a name."""
        return Found(*(_search(index, query) for index in (self.tools, self.packs, self.snippets, self.aliases)))


def _search(index: ToolIndex, query: str) -> tuple[Hit, ...]:
    """What fits the query; names that have it in them come first, and most of all those of little else."""
    scores = {hit.key: hit.score for hit in index.rank(query)}
    part = query.strip().casefold()
    if len(part) > 1 and not any(character.isspace() for character in part):
        for key in index.keys:
            if part in key.casefold():
                scores[key] = 1 + len(part) / len(key)
    ranked = sorted(scores.items(), key=lambda each: -each[1])
    return tuple(Hit(key, score) for key, score in ranked if score >= _WORTH_SHOWING)


def make_catalogue(tools: Sequence[ToolDefinition], packs: Sequence[PackDefinition], config: Config) -> Catalogue:
    """Index everything; an alias is described by the tool that it stands for."""
    descriptions = {tool.name: tool.description for tool in tools}
    instructions = config.prompts.packs
    return Catalogue(
        ToolIndex([_searchable_tool(tool) for tool in tools]),
        ToolIndex([Searchable(p.name, "", p.name, f"{p.description} {instructions.get(p.name, '')}") for p in packs]),
        ToolIndex([Searchable(name, "", name, snippet.description) for name, snippet in config.snippets.items()]),
        ToolIndex(
            [Searchable(name, "", name, f"{to} {descriptions.get(to, '')}") for name, to in config.aliases.items()]
        ),
    )


def _searchable_tool(tool: ToolDefinition) -> Searchable:
    text = f"{tool.description} {tool.docs.body}"
    return Searchable.of_schema(tool.name, tool.pack, tool.tool, text, tool.parameters)
