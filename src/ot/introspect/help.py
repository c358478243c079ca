"""ot.help: an overview, everything about one name, or what fits a need; always within a budget.

One index of tools, packs, snippets and aliases is searched by need or by part of a name. Who looks for a
tool where plain Python in a run does the task is told so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import anyio.lowlevel

from mcp_core.quick_dataclass import dataclass, field, replace
from ot.config.models import Config
from ot.effects import Effect
from ot.execution.wording import word_error
from ot.introspect.help_text import describe_alias, describe_pack, describe_snippet_help, describe_tool, fit, shorten
from ot.introspect.listings import Expand, Info, SignatureOf
from ot.introspect.not_listed import MarkTool, mark_off
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition
from ot.registry.ranking.index import MOST_NEAR, Hit, ToolIndex
from ot.registry.ranking.postings import Searchable, read_parameters
from ot.registry.ranking.words import read_keywords
from ot.registry.registry import ToolRegistry
from ot.store.shelf import Shelf

_FITS = 0.15
_FEW_LETTERS = 3
_MOST_OFF = 3  # tools among which one is named that is switched off
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

    def __init__(
        self,
        tools: Sequence[ToolDefinition],
        packs: Sequence[PackDefinition],
        config: Config,
        off: Sequence[PackDefinition] = (),
        shelf: Shelf | None = None,
    ) -> None:
        switched_off = [each for each in _tools(chain(*(pack.tools.values() for pack in off))) if each.keywords]
        snippets = [
            Searchable(f"snippets:{name}", "", name, each.description) for name, each in config.snippets.items()
        ]
        things = (_tools(tools), switched_off, _packs(packs, config), snippets, _aliases(tools, config))
        self._index = ToolIndex([*chain.from_iterable(things)], shelf)
        self.off = {tool.name: mark_off(tool) for pack in off for tool in pack.tools.values()}

    def find(self, query: str) -> Matches:
        """Find what fits a need in plain words; names that contain the query come first."""
        ranked = self._index.rank(query)
        scores = {hit.key: hit.score for hit in ranked if hit.score >= _FITS}
        part = query.strip().casefold()
        if len(part) > 1 and not any(character.isspace() for character in part):
            for key in self._index.keys:
                name = key.partition(":")[2]
                words = re.split(r"[._]", name.casefold())
                # Few letters only where a word begins: `ls` is no part of `tools`.
                begins = len(part) > _FEW_LETTERS or any(word.startswith(part) for word in words)
                if part in name.casefold() and begins:
                    scores[key] = 1 + len(part) / len(name)
        found = Matches(weak=[] if scores else _tools_of(ranked)[:_MOST_WEAK])
        for key, score in sorted(scores.items(), key=lambda each: -each[1]):
            kind, _, name = key.partition(":")
            if name not in self.off or len(found.tools) < _MOST_OFF:  # it may be the answer, or else says nothing
                getattr(found, kind).append(Hit(name, score))
        return found


def _tools_of(hits: Sequence[Hit]) -> list[Hit]:
    split = ((hit.key.partition(":"), hit.score) for hit in hits)
    return [Hit(name, score) for (kind, _, name), score in split if kind == "tools"]


def _tools(tools: Iterable[ToolDefinition]) -> Iterator[Searchable]:
    keywords: dict[Path, dict[str, str]] = {}
    for tool in tools:
        folder = _folder_of(tool)
        if folder is not None and folder not in keywords:
            keywords[folder] = read_keywords(folder)
        late = tool.late
        pack, _, name = tool.name.partition(".")
        yield Searchable(
            f"tools:{tool.name}",
            pack,
            name,
            f"{tool.description} {tool.docs.body if late is None else late.body}",
            read_parameters(tool.parameters if late is None else late.schema),
            tool.effect is Effect.READS,
            keywords[folder].get(f"{tool.file.stem}.{name}", "") if folder and tool.file else "",
        )


def _folder_of(tool: ToolDefinition) -> Path | None:
    """The folder in which a pack of ours has its file, and the keywords of its tools."""
    foreign = tool.cancellation in (Cancellation.WORKER, Cancellation.PROXY, Cancellation.SKILL)
    return None if foreign or tool.file is None else tool.file.parent


def _packs(packs: Sequence[PackDefinition], config: Config) -> Iterator[Searchable]:
    """Index packs; a pack's name says as much about its tools as about itself, so it counts as a pack's name only."""
    for pack in packs:
        text = f"{pack.description} {config.prompts.packs.get(pack.name, '')}"
        yield Searchable(f"packs:{pack.name}", pack.name, "", text)


def _aliases(tools: Sequence[ToolDefinition], config: Config) -> Iterator[Searchable]:
    """Index aliases, each described by the tool it stands for."""
    descriptions = {tool.name: tool.description for tool in tools if tool.name in config.aliases.values()}
    for name, target in config.aliases.items():
        text = f"{target} {descriptions.get(target, '')}"
        yield Searchable(f"aliases:{name}", target.partition(".")[0], name, text)


@dataclass(frozen=True, slots=True)
class PlainPython:
    """One subject: the words that ask for it, and how code does it."""

    words: frozenset[str]
    subject: str
    modules: str
    code: str

    def __str__(self) -> str:
        return (
            f"{self.subject} needs no tool: plain Python in a run does it ({self.modules}).\n"
            f"```python\n{self.code}\n```"
        )


PLAIN_PYTHON = (
    PlainPython(
        frozenset({"clock", "time", "times", "timezone", "timezones", "date", "dates", "datetime", "zoneinfo", "now"}),
        "Getting and converting times",
        "datetime, zoneinfo, calendar",
        "from datetime import UTC, datetime\n"
        "from zoneinfo import ZoneInfo\n"
        'datetime.now(UTC).astimezone(ZoneInfo("Asia/Tokyo")).isoformat()',
    ),
    PlainPython(
        frozenset({"data", "csv", "json", "toml", "tomllib", "sqlite", "sqlite3", "diff", "difflib", "statistics"}),
        "Reading and processing data",
        "csv, json, tomllib, sqlite3, difflib, statistics",
        "import csv, io, statistics\n"
        'rows = list(csv.DictReader(io.StringIO("name,price\\ntea,4.5\\npot,20")))\n'
        'statistics.mean(float(row["price"]) for row in rows)',
    ),
)


BUDGET = 8000  # characters of an answer, about 2,000 tokens
MOST_QUERIES = 10

_PACK_NAMES = 40
_MOST_TOOLS = {"list": 40, "min": 10, "full": 3}
_MOST_OTHERS = 5
_SIGNATURES = 3  # go with the best tools, so that they can be called at once
_LINE = 200  # characters of a description
_FEWEST = 400  # characters for tools, whatever else was found


@dataclass(frozen=True, slots=True)
class Help:
    """Answers to queries about one state of the registry and the configuration."""

    registry: ToolRegistry
    config: Config
    catalogue: Catalogue
    expand: Expand
    signature_of: SignatureOf
    mark: MarkTool = lambda tool: tool
    unmatched: list[str] = field(default_factory=list)  # queries that no tool fits

    async def answer(self, queries: Sequence[str], info: Info) -> str:
        wanted = [*dict.fromkeys(query.strip().removesuffix("()") for query in queries if query.strip())]
        if not wanted:
            packs = self.registry.packs()
            names = ", ".join(pack.name for pack in packs[:_PACK_NAMES])
            more = f" ({_PACK_NAMES} of {len(packs)})" if len(packs) > _PACK_NAMES else ""
            tools = sum(len(pack.tools) for pack in packs)
            return OVERVIEW.format(tools=tools, packs=f"{len(packs)} packs: {names}{more}")
        asked = wanted[:MOST_QUERIES]
        room = BUDGET // len(asked)
        parts = []
        for query in asked:
            parts.append(self._about(query, info, room))
            await anyio.lowlevel.checkpoint()  # among many thousand tools each takes a while
        if len(wanted) > len(asked):
            parts.append(f"[{len(asked)} of {len(wanted)} queries answered. Ask for the rest in another call.]")
        return "\n\n".join(parts)

    def _about(self, query: str, info: Info, room: int) -> str:
        exact = self._exact(query, info, room)
        if exact and info != "list":
            return _cut("\n\n".join(exact), room, f'All of it: ot.tools(pattern="{query}", info="full")')
        found = self.catalogue.find(query)
        heading = " ".join(shorten(query, 80).split())
        word = query.partition(".")[0].strip().casefold()  # its only word, or the pack that it names
        plain = next((plain for plain in PLAIN_PYTHON if word in plain.words), None)
        if plain is not None and not exact:
            others = self._matches(found, "list", room // 2)
            return _cut("\n\n".join(filter(None, (f"# {heading}", str(plain), others))), room, "Ask for fewer at once")
        if not found and not exact:  # what shares at least a word with what was asked may be shown
            self.unmatched.append(query)
            browse = "Try other words, or browse with ot.tools() or ot.packs()."
            text = f"No matches found for {heading!r}. {browse}"
            if found.weak:
                kind: Info = "list" if info == "list" else "min"
                weak = self._matches(Matches(tools=found.weak), kind, room - len(heading) - len(browse) - 80)
                text = f"Nothing fits {heading!r} well. {browse} The closest matches, which may be unrelated:\n\n{weak}"
            return _cut(f"# {heading}\n\n{text}", room, "Ask for fewer at once")
        text = self._matches(found, info, room - len(heading) - 2)
        return _cut(f"# {heading}\n\n{text}", room, 'Less of each: info="list"')

    def _matches(self, found: Matches, info: Info, room: int) -> str:
        """Describe tools, packs, snippets and aliases, best first; tools get the room that the others leave."""
        aliases, snippets = self.config.aliases, self.config.snippets

        def group(heading: str, hits: Sequence[Hit], describe: Callable[[str], str]) -> str:
            lines = [hit.key if info == "list" else f"- {describe(hit.key)}" for hit in hits[:_MOST_OTHERS]]
            narrow = f"All of them: ot.{heading.lower()}()"
            text = fit(lines, _MOST_OTHERS * _LINE, of=len(hits), narrow=narrow)
            return f"{heading}:\n{text}" if hits else ""

        others = [
            group("Packs", found.packs, lambda name: f"{name}: {_one_line(self.registry.pack(name).description)}"),
            group("Snippets", found.snippets, lambda name: f"${name}: {_one_line(snippets[name].description)}"),
            group("Aliases", found.aliases, lambda name: f"{name} -> {aliases[name]}"),
        ]
        tools = self._matching_tools(found.tools, info, max(room - sum(map(len, others)), _FEWEST))
        return "\n\n".join(part for part in (tools, *others) if part)

    def _matching_tools(self, hits: Sequence[Hit], info: Info, room: int) -> str:
        lines = []
        for number, hit in enumerate(hits[: _MOST_TOOLS[info]]):
            tool = self.catalogue.off.get(hit.key) or self.mark(self.registry.get(hit.key))
            if info == "min":
                signature = f"\n  {shorten(self.signature_of(tool), 3 * _LINE)}" if number < _SIGNATURES else ""
                lines.append(f"- {tool.name}: {_one_line(tool.description)}{signature}")
            else:
                text = self._describe_tool(tool, info)
                lines.append(f"{text}\n" if info == "full" else text)
        narrow = 'Be more specific, or list names: ot.tools(pattern="...", info="list")'
        count = f"{MOST_NEAR} or more" if len(hits) >= MOST_NEAR else str(len(hits))
        return f"Tools:\n{fit(lines, room, of=len(hits), narrow=narrow, count=count)}" if hits else ""

    def _describe_tool(self, tool: ToolDefinition, info: Info) -> str:
        return describe_tool(tool, info, docs_url=self.config.docs_url, signature=self.signature_of(tool))

    def _exact(self, query: str, info: Info, room: int) -> list[str]:
        config, registry = self.config, self.registry
        found: list[str] = []
        if "." in query and registry.has(query):
            found.append(self._describe_tool(self.mark(registry.get(query)), info))
        for pack in registry.packs():
            if pack.name == query:
                marked = replace(pack, tools={name: self.mark(tool) for name, tool in pack.tools.items()})
                most = room - room // 4
                found.append(describe_pack(marked, info, config=config, signature_of=self.signature_of, room=most))
        if query.startswith("$") and query[1:] in config.snippets:
            found.append(describe_snippet_help(query[1:], info, config=config, expand=self.expand))
        if query in config.aliases:
            found.append(describe_alias(query, info, config=config, registry=registry, signature_of=self.signature_of))
        if (absence := registry.absence(query)) is not None:
            found.append(f"# {query}\n\n{word_error(absence)}")
        return found


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _LINE)


def _cut(text: str, room: int, more: str) -> str:
    note = f"\n[Cut. {more}]"
    return text if len(text) <= room else shorten(text, room - len(note)) + note


OVERVIEW = """\
# OneTool

{tools} tools in {packs}. Code calls one as pack.tool(argument=value).

## Discovery
- ot.help(query="send a mail"): find the right tool; several at once: query=["read a pdf", "send a mail"]
- ot.help(query="pack.tool"): all about one tool; also for a pack, a "$snippet" or an alias
- ot.tools(pattern="file"): tools by part of their name
- ot.packs(): packs; ot.aliases(): short names for tools; ot.snippets(): code templates

## Info levels
- info="list": names only
- info="min": names with a short description (the default)
- info="full": everything: signature, arguments, returns, example, source

## Examples
ot.tools(pattern="ot.", info="list")
ot.packs(pattern="ot", info="full")
ot.help(query="ot.tools", info="full")

## Tips
- Look for a tool first, read its signature, then call it with keyword arguments.
- The last expression of the code is the answer; keep large values in variables and return what matters.
- A listing is a value like any other: [tool["name"] for tool in ot.tools() if "pdf" in tool["description"]]
- Calls that do not depend on one another: ot.parallel(lambda: ..., lambda: ...)
"""
