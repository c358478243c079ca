"""`onetool completion SHELL`: the script that makes a shell complete `onetool`, and the answers to it.

Quick, from what is remembered, and starting nothing: loading a command takes up to a second, and so does reading every
definition; nobody waits for that twice.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar

from mcp_core.atomic_write import write_private
from mcp_core.json_types import mapping_of
from onetool.cli import COMMANDS, OK, load_command, module_of
from ot.config.paths import CONFIG_FILE, FOLDER, find_places, skill_folders, state_folder, tool_folders
from ot.errors import ConfigError

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
    stamp = []
    for file in files:
        found = None
        with suppress(OSError):
            found = os.stat(file)  # noqa: PTH116 - a millisecond less than by way of pathlib, of some dozens of files
        stamp.append([] if found is None else [found.st_mtime_ns, found.st_size])
    return stamp


_BUILT_IN = Path(__file__).parents[2] / "ot_tools"


class Names(TypedDict):
    """All names there are, sorted; tools as `pack.tool`."""

    tools: list[str]
    packs: list[str]
    servers: list[str]


def recall_names(memory: Path, read: Callable[[], Names], config: Path | None, *, cwd: Path, home: Path) -> Names:
    """Return the names for whoever types here, which `read` finds if they are not remembered; raises ConfigError."""
    places = find_places(cwd=cwd, home=home, named=config)
    folders = [*tool_folders(places.project, home), *skill_folders(places.project, home)]
    state = [state_folder(home) / name for name in ("servers/definitions", "trust")]
    own = [folder / CONFIG_FILE for folder in (places.home_folder, places.project / FOLDER)]
    inside = [each for folder in (_BUILT_IN, *folders) for each in _inside(folder)]
    stamp = stamp_of([_BUILT_IN, *own, *([config] if config else []), *state, *folders, *inside])
    return recall(memory, f"names {config or places.project}", stamp, read)


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


class Candidate(NamedTuple):
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
        """Return candidates for the last word; names to be quoted are left out: one may have been chosen to run."""
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


_BASH = r"""# onetool completion bash
_onetool() {
    local word about nospace=
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        [[ $word == *. ]] && nospace=1
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    [[ -n $nospace ]] && compopt -o nospace
}
complete -o default -F _onetool onetool
"""

_ZSH = r"""#compdef onetool
# onetool completion zsh
_onetool() {
    local word about
    local -a whole described open
    while IFS=$'\t' read -r word about; do
        if [[ $word == *. ]]; then
            open+=("$word")
        else
            whole+=("$word")
            described+=("${word}${about:+  -- $about}")
        fi
    done < <("${words[1]}" completion zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)
    (( ${#open} )) && compadd -S '' -a open
    (( ${#whole} )) && compadd -l -d described -a whole
    (( ${#open} + ${#whole} )) || _files
}
if [[ $funcstack[1] == _onetool ]]; then
    _onetool "$@"
else
    compdef _onetool onetool
fi
"""

_FISH = r"""# onetool completion fish
function __onetool_complete
    set -l words (commandline --tokens-expanded --cut-at-cursor 2>/dev/null; or commandline -opc) (commandline -ct)
    $words[1] completion fish -- $words 2>/dev/null
end
complete -c onetool -a '(__onetool_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


EPILOG = (
    "bash: put `source <(onetool completion bash)` into ~/.bashrc. zsh: the same with zsh into ~/.zshrc, after "
    "compinit. fish: onetool completion fish > ~/.config/fish/completions/onetool.fish. Tool names come from what "
    "is already known; no server is started."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)  # another -- may be among them


def main(options: argparse.Namespace) -> int:
    # Whether argparse keeps the -- in front depends on its version; the next word is the program.
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        sys.stdout.write(SCRIPTS[options.shell])
        return OK
    home = Path.home()
    memory, folder = state_folder(home) / "completion.json", Path(__file__).parent

    def arguments_of(command: str) -> Arguments:
        stamp = stamp_of([folder / f"{module_of(command)}.py", folder])
        return recall(memory, f"arguments {command}", stamp, lambda: describe_arguments(load_command(command)[1]))

    def names(config: Path | None) -> Names:
        def read() -> Names:
            # This takes a second, and most presses of TAB do not need it.
            from onetool.cli.definitions import read_registry
            from onetool.cli.start import load

            loaded = load(argparse.Namespace(config=config), tolerant=True)
            registry = read_registry(loaded)
            tools, packs = ([each.name for each in found] for found in (registry.definitions(), registry.packs()))
            return {"tools": sorted(tools), "packs": sorted(packs), "servers": sorted(loaded.config.servers)}

        return recall_names(memory, read, config, cwd=Path.cwd(), home=home)

    try:
        found = CommandLineCompleter(COMMANDS, arguments_of, names).complete(words)
    except ConfigError:  # the command itself will report it
        return OK
    for each in found:
        sys.stdout.write(f"{each.word}\t{each.about}\n" if each.about else f"{each.word}\n")
    return OK
