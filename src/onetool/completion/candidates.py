"""Candidates for the word at the cursor of a half-typed command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onetool.completion.arguments import Arguments
from onetool.completion.names import Names

_CONFIG = "--config"
_TABLE_OPTIONS = {"--help": "show this help message and exit", "--version": "print the version"}
_PLAIN = re.compile(r"[\w.,:/@%+=-]+")  # has no special meaning to any shell: bash inserts it as it is
_FEW = 12  # up to this many tools are offered; if there are more, their packs


@dataclass(frozen=True, slots=True)
class Candidate:
    """One word; after an `open` one no space is inserted, because it is not complete yet."""

    word: str
    about: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class CommandLineCompleter:
    """Completes words from the commands, their arguments, and the names of packs, tools and servers."""

    commands: Mapping[str, str]
    arguments_of: Callable[[str], Arguments]
    names: Callable[[Path | None], Names]

    def complete(self, words: Sequence[str]) -> list[Candidate]:
        """Return candidates for the last word; the first word is the program.

        A name that would have to be quoted is left out: it may have been chosen to run something.
        """
        *before, current = words[1:] or [""]
        found = (each for each in self._candidates(before, current) if each.word.startswith(current))
        return [each for each in found if _PLAIN.fullmatch(each.word)]

    def _candidates(self, before: Sequence[str], current: str) -> Iterator[Candidate]:
        if before and before[-1] == _CONFIG:
            return  # a file, which the shell completes
        place = self._find_command(before)
        if place is None:
            listed = {**_TABLE_OPTIONS, _CONFIG: "read only this configuration file"}
            yield from _listed(listed if current.startswith("-") else self.commands)
        else:
            yield from self._after_command(before[place], before[place + 1 :], current, _config_in(before))

    def _find_command(self, before: Sequence[str]) -> int | None:
        places = (place for place, word in enumerate(before) if word in self.commands)
        return next((place for place in places if before[place - 1 : place] != [_CONFIG]), None)

    def _after_command(
        self, command: str, before: Sequence[str], current: str, config: Path | None
    ) -> Iterator[Candidate]:
        arguments = self.arguments_of(command)
        chosen = next((word for word in before if word in arguments["actions"]), None)
        if chosen is not None:
            arguments = arguments["actions"][chosen]
        if before and before[-1] in arguments["values"]:
            yield from map(Candidate, arguments["values"][before[-1]])
        elif current.startswith("-"):
            yield from _listed(arguments["options"])
        else:
            yield from map(Candidate, (*arguments["actions"], *arguments["words"]))
            plain = [word for word in before if not word.startswith("-")]
            yield from self._names_for(command, current, config, first=not plain)

    def _names_for(self, command: str, current: str, config: Path | None, *, first: bool) -> Iterator[Candidate]:
        match command:
            case "call" if first:
                yield from _tools(self.names(config), current)
            case "help" if first:
                yield from _listed(self.commands)
                yield from _packs_and_tools(self.names(config), current)
            case "tools" if first:
                yield from _packs_and_tools(self.names(config), current)
            case "packs" if first:
                yield from map(Candidate, self.names(config)["packs"])
            case "login" | "accept" if first:
                yield from map(Candidate, self.names(config)["servers"])


def _listed(words: Mapping[str, str]) -> Iterator[Candidate]:
    for word, about in words.items():
        yield Candidate(word, about)


def _config_in(before: Sequence[str]) -> Path | None:
    if _CONFIG not in before[:-1]:
        return None
    return Path(before[before.index(_CONFIG) + 1]).expanduser().absolute()


def _tools(names: Names, current: str) -> Iterator[Candidate]:
    """Yield tools; if there are many, only their packs."""
    fitting = [tool for tool in names["tools"] if tool.startswith(current)]
    packs = dict.fromkeys(tool.partition(".")[0] for tool in fitting)
    if "." in current or len(fitting) <= _FEW or len(packs) == 1:
        yield from map(Candidate, fitting)
    else:
        for pack in packs:
            yield Candidate(f"{pack}.", open=True)


def _packs_and_tools(names: Names, current: str) -> Iterator[Candidate]:
    yield from map(Candidate, names["packs"])
    if "." in current:
        yield from map(Candidate, names["tools"])
