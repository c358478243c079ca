"""The command table: which commands there are, and how one is found and run.

A command is a module beside this one (`-` in its name being `_`) with `main(options)` and, where it needs them,
`add_arguments(parser)` and the EPILOG of its help. Related commands share a module, in which each has `main_NAME` and
the like, where that differs. Only the chosen one is imported, and the parser is argparse, because a client waits while
`onetool serve` starts: argparse costs 10 ms there, typer 100.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

COMMANDS = {
    "serve": "serve MCP over stdin and stdout, or over HTTP on this machine",
    "run": "run Python and print the answer",
    "repl": "run Python as you type it, with completion and history",
    "tools": "list tools",
    "packs": "list packs: groups of tools",
    "help": "find a tool by what you want to do, or explain a tool, a pack or a command",
    "call": "call one tool",
    "results": "list the stored results, or show one",
    "servers": "list the MCP servers behind OneTool, and their state",
    "workers": "list the processes that serve extensions, and their state",
    "logs": "show recent warnings and errors, or the traceback behind an incident",
    "reload": "tell running servers to read the configuration again",
    "skills": "list the skills that runs can call, or show one",
    "dashboard": "open the dashboard in a browser: live runs, servers, results, statistics and errors",
    "stats": "show how often tools were called, how that went and what it saved",
    "top": "show how your servers are at this moment: replicas, kernels, runs in progress and the last hour",
    "runs": "list this project's runs in the journal, or show one",
    "undo": "take back what a run of this project has changed",
    "replay": "run the code of a run again, with every call answered from the journal",
    "approve": "answer the questions of runs whose clients cannot ask you",
    "audit": "show the calls that had side effects, or verify the audit log",
    "policy": "try other rules on the calls of the journal",
    "stubs": "write type stubs of every pack, for editors and type checkers",
    "doctor": "check everything that OneTool depends on, and suggest fixes",
    "check": "start every server and extension, and report mistakes",
    "trust": "review what a project's .onetool would do, and trust it",
    "keys": "create, list and revoke the API keys that give machines access to a team's server",
    "store": "bring the tables of a team's store up to date, or show what that would do",
    "upgrade": "bring the newest version, in the way that OneTool was installed here",
    "init": "write a configuration file to start from",
    "import": "import servers from other MCP clients, or add OneTool to one",
    "add": "add a server from the MCP registry, a package, a bundle or an address, after showing it",
    "update": "update servers that `add` has installed, after showing what would change",
    "remove": "remove a server, and what `add` has installed of it",
    "connect": "add OneTool to another MCP client, or remove it",
    "login": "log in to a server that asks for it",
    "secrets": "list, set, test and remove your own secrets, in secrets.yaml or the keychain",
    "seal": "create and rotate the keys that encrypt people's secrets and logins",
    "accept": "review what a server has changed about itself, and accept it",
    "new": "write a first extension and a test for it",
    "lock": "list the versions that extensions are locked to, or upgrade them",
    "fetch": "install the libraries that packs need, so that no call waits for them",
    "sdk-path": "print the folder to put on PYTHONPATH when you run an extension by hand",
    "completion": "print a script that makes your shell complete commands, options and tools",
    "chat": "chat with a model that can use every tool",
    "listen": "talk to a model that can use every tool",
    "demo": "show a session between a client and the server",
}

_MODULES = {
    "import": "import_", "remove": "update", "servers": "running", "workers": "running", "reload": "running",
    "packs": "tools",
    "login": "accept", "lock": "fetch", "runs": "results", "replay": "skills",
}  # fmt: skip

_CONFIG: dict[str, Any] = {"type": Path, "metavar": "PATH", "help": "read only this configuration file"}
_USUAL_WIDTH = 80  # columns

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, 1 if it failed, 2 for a mistake in usage or configuration."""
    arguments = _name_as_today(sys.argv[1:] if argv is None else list(argv))
    places = (place for place, word in enumerate(arguments) if word in COMMANDS)
    end = next((place + 1 for place in places if arguments[place - 1 : place] != ["--config"]), len(arguments))
    try:
        chosen = _build_table_parser().parse_args(arguments[:end])
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        command = chosen.command or (None if at_terminal else "serve")
        if command is None:
            print_table(sys.stderr)
            return USAGE
        with importing():
            run, parser = load_command(command)
        # What follows the command goes to its own parser, unchanged.
        return run(parser.parse_args(arguments[end:], argparse.Namespace(config=chosen.config, arguments=arguments)))
    except BaseException as error:  # noqa: BLE001 - raised again unless it has an exit status
        return status_of(error)
    finally:
        gc.freeze()  # otherwise the interpreter searches everything for garbage before it ends


def _name_as_today(arguments: list[str]) -> list[str]:
    """Return the arguments with the command under its name of today, if it was renamed."""
    place = 2 if arguments[:1] == ["--config"] else 0
    word = arguments[place] if place < len(arguments) else ""
    if not word or word in COMMANDS or word.startswith("-"):
        return arguments
    from ot import renamed  # start-up path: few words are no commands

    found = renamed.find_former(renamed.COMMANDS, word)
    if found is None:
        return arguments
    sys.stderr.write(f"onetool: {found.words}\n")
    return [*arguments[:place], found.now, *arguments[place + 1 :]]


def status_of(error: BaseException) -> int:
    """Report an error that a person can act on, and return the exit status; any other is raised again."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if not isinstance(error, BrokenPipeError | BaseExceptionGroup):
        if not isinstance(error, Exception):
            raise error
        from onetool.cli.mistakes import report_mistake  # start-up path: `onetool --help` needs nothing of the engine

        return report_mistake(error)
    # The reader of our output has gone, which Rich reports as SystemExit; a task group wraps either.
    if isinstance(error, BaseExceptionGroup) and error.split((BrokenPipeError, SystemExit))[1] is not None:
        raise error
    # Python could not flush its output at exit either.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return FAILED


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage meanwhile, nor later in what is imported, which stays for good."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def print_table(file: TextIO | None = None) -> None:
    _build_table_parser().print_help(file)


def module_of(command: str) -> str:
    return _MODULES.get(command, command.replace("-", "_"))


def load_command(command: str) -> tuple[Callable[[argparse.Namespace], int], argparse.ArgumentParser]:
    """Import the module of a command; return what runs it, and the parser of its arguments."""
    found = vars(importlib.import_module(f"onetool.cli.{module_of(command)}"))
    about = COMMANDS[command]
    parser = argparse.ArgumentParser(
        f"onetool {command}",
        description=f"{about[:1].upper()}{about[1:]}.",
        epilog=found.get(f"EPILOG_{command.upper()}", found.get("EPILOG")),
        formatter_class=_Formatter,
    )
    parser.add_argument("--config", default=argparse.SUPPRESS, **_CONFIG)
    if add_arguments := found.get(f"add_arguments_{command}", found.get("add_arguments")):
        add_arguments(parser)
    run: Callable[[argparse.Namespace], int] = found.get(f"main_{command}") or found["main"]
    return run, parser


def _build_table_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        "onetool",
        usage="onetool [--config PATH] COMMAND ...",
        description="One MCP tool, run(command): Python that can call every tool you have.",
        epilog="commands:\n" + "\n".join(f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()),
        formatter_class=_TableFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    parser.add_argument("--config", **_CONFIG)
    parser.add_argument("command", nargs="?", choices=list(COMMANDS), metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


class _Formatter(argparse.HelpFormatter):
    """Finds the width itself: argparse makes a formatter for each argument, and loads all of shutil for that."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")  # as `shutil.get_terminal_size` does
        width = int(columns) if columns.isdecimal() else 0
        if not width:
            with suppress(OSError):
                width = os.get_terminal_size().columns
        super().__init__(prog, width=(width or _USUAL_WIDTH) - 2)


class _TableFormatter(_Formatter, argparse.RawDescriptionHelpFormatter):
    """Leaves the table of commands as it is."""


class _ShowVersion(argparse.Action):
    """Looks the version up only when somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from mcp_core.distribution import VERSION

        sys.stdout.write(f"onetool {VERSION}\n")
        parser.exit()
