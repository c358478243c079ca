"""Completion of commands, options and names in a shell: quick, from what is remembered, and starting nothing.

Loading a command takes up to a second, and so does reading every definition; nobody waits for that twice.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar

from mcp_core.atomic_write import write_private
from mcp_core.json_types import mapping_of
from ot.config.paths import CONFIG_FILE, FOLDER, Places, find_places, skill_folders, state_folder, tool_folders

T = TypeVar("T")

Stamp = list[list[int]]
_MOST = 200  # pieces: several projects, and all commands


def recall(file: Path, key: str, stamp: Stamp, find: Callable[[], T]) -> T:
    """Return the value of `key`: as it was saved under this stamp, or else found now and saved. T is plain JSON.

    If the file cannot be read or written, everything is found again.
    """
    known: dict[str, object] = {}
    with suppress(OSError, ValueError, RecursionError):
        known = dict(mapping_of(json.loads(file.read_bytes())))
    kept = known.pop(key, None)
    if isinstance(kept, dict) and kept.get("stamp") == stamp:
        saved: T = kept["found"]
        return saved
    found = find()
    known[key] = {"stamp": stamp, "found": found}
    with suppress(OSError):
        write_private(file, json.dumps(dict(list(known.items())[-_MOST:])))
    return found


def stamp_of(files: Iterable[Path]) -> Stamp:
    """Return a stamp that changes with any of these files, or with what a folder among them holds."""
    return [_state_of(file) for file in files]


def _state_of(file: Path) -> list[int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - a millisecond less than by way of pathlib, of some dozens of files
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


_BUILT_IN = Path(__file__).parents[1] / "ot_tools"
_STATE = ("servers/definitions", "trust")


class Names(TypedDict):
    """All names there are, sorted; tools as `pack.tool`."""

    tools: list[str]
    packs: list[str]
    servers: list[str]


def recall_names(memory: Path, read: Callable[[], Names], config: Path | None, *, cwd: Path, home: Path) -> Names:
    """Return the names for whoever types here, which `read` finds if they are not remembered; raises ConfigError."""
    places = find_places(cwd=cwd, home=home, named=config)
    return recall(memory, f"names {config or places.project}", _stamp(places, config, home), read)


def _stamp(places: Places, config: Path | None, home: Path) -> Stamp:
    folders = [*tool_folders(places.project, home), *skill_folders(places.project, home)]
    state = [state_folder(home) / name for name in _STATE]
    own = [folder / CONFIG_FILE for folder in (places.home_folder, places.project / FOLDER)]
    inside = [each for folder in (_BUILT_IN, *folders) for each in _inside(folder)]
    return stamp_of([_BUILT_IN, *own, *([config] if config else []), *state, *folders, *inside])


def _inside(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder of tools, and in the folders below it."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    for each in found:
        yield each
        yield from sorted(each.glob("*.py")) if each.is_dir() else ()


class Arguments(TypedDict):
    """`options` are names with their help, `values` the choices of those that take one (empty if it may be anything),
    `words` the choices of a plain argument, `actions` the arguments behind each action of a command.
    """

    options: dict[str, str]
    values: dict[str, list[str]]
    words: list[str]
    actions: dict[str, Arguments]


def describe_arguments(parser: argparse.ArgumentParser) -> Arguments:
    found = Arguments(options={}, values={}, words=[], actions={})
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        choices = [str(choice) for choice in action.choices or ()]
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found["actions"] = {name: describe_arguments(each) for name, each in action.choices.items()}
        elif not action.option_strings:
            found["words"] += choices
        elif action.help != argparse.SUPPRESS:
            found["options"] |= dict.fromkeys(action.option_strings, str(action.help or ""))
            if action.nargs != 0:
                found["values"] |= dict.fromkeys(action.option_strings, choices)
    return found


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
        places = (place for place, word in enumerate(before) if word in self.commands)
        place = next((place for place in places if before[place - 1 : place] != [_CONFIG]), None)
        if place is None:
            listed = {**_TABLE_OPTIONS, _CONFIG: "read only this configuration file"}
            yield from _listed(listed if current.startswith("-") else self.commands)
        else:
            named = Path(before[before.index(_CONFIG) + 1]).expanduser().absolute() if _CONFIG in before[:-1] else None
            yield from self._after_command(before[place], before[place + 1 :], current, named)

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
    return (Candidate(word, about) for word, about in words.items())


def _tools(names: Names, current: str) -> Iterator[Candidate]:
    """Yield tools; if there are many, only their packs."""
    fitting = [tool for tool in names["tools"] if tool.startswith(current)]
    packs = dict.fromkeys(tool.partition(".")[0] for tool in fitting)
    if "." in current or len(fitting) <= _FEW or len(packs) == 1:
        yield from map(Candidate, fitting)
    else:
        yield from (Candidate(f"{pack}.", open=True) for pack in packs)


def _packs_and_tools(names: Names, current: str) -> Iterator[Candidate]:
    yield from map(Candidate, names["packs"])
    if "." in current:
        yield from map(Candidate, names["tools"])
