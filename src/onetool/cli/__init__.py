"""The command table: which commands there are, and how one is found and run.

A command is a module beside this one (`-` in its name being `_`, and `import` being `import_`) with `main(options)`
and, where it needs them, `add_arguments(parser)` and the EPILOG of its help. Only the chosen one is imported, and the
parser is argparse, because a client waits while `onetool serve` starts: argparse costs 10 ms there, typer 100.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

COMMANDS = {
    "serve": "serve MCP over stdin and stdout, or over HTTP on this machine",
    "run": "run Python and print the answer",
    "repl": "run Python as you type it, with completion and history",
    "tools": "list tools",
    "packs": "list packs: groups of tools",
    "help": "find a tool by what you want to do, or explain a tool, a pack or a command",
    "call": "call one tool",
    "results": "list the stored results, or show one",
    "servers": "list the MCP servers behind OneTool, and how they are",
    "workers": "list the processes that serve extensions, and how they are",
    "logs": "show what went wrong lately, or the traceback behind an incident",
    "reload": "have the servers that are running read the configuration again",
    "skills": "list the skills that runs can call, or show one",
    "dashboard": "open the dashboard: live runs, servers, results, figures and errors in a browser",
    "stats": "show what was called, how it went and what it saved",
    "runs": "list the runs of this project that the journal has, or show one",
    "replay": "run the code of a run again, with every call answered from its journal",
    "audit": "show what was called with effect, or check that the log of it is whole",
    "stubs": "write type stubs of every pack, for editors and type checkers",
    "doctor": "look at everything that OneTool stands on, and say what to do about it",
    "check": "start every server and extension, and look for mistakes",
    "trust": "look at what a project's .onetool would do, and trust it",
    "keys": "make, list and revoke API keys, with which machines use a team's server",
    "init": "write a configuration file to start from",
    "import": "import servers from other MCP clients, or add OneTool to one",
    "connect": "add OneTool to another MCP client, or take it out",
    "login": "log in to a server that asks for it",
    "seal": "make and replace the keys that seal secrets and logins of people",
    "accept": "review what a server has changed about itself, and accept it",
    "new": "write a first extension and a test for it",
    "lock": "list the versions that extensions are locked to, or upgrade them",
    "fetch": "install the libraries that packs need, before a call waits for them",
    "sdk-path": "print the folder to put on PYTHONPATH when you run an extension by hand",
    "completion": "print what makes a shell complete commands, options and tools",
    "chat": "chat with a model that can use every tool",
    "listen": "talk to a model that can use every tool",
    "demo": "watch a client and the server talk",
}

_MODULES = {"import": "import_"}

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, 1 if the run failed, 2 for a mistake in usage or configuration."""
    try:
        return _dispatch(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, BaseExceptionGroup) as error:
        # Whoever read our output has gone, which Rich tells by SystemExit; a task group wraps either.
        if isinstance(error, BaseExceptionGroup) and error.split((BrokenPipeError, SystemExit))[1] is not None:
            raise
        # What Python would flush at exit has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED


def _dispatch(arguments: list[str]) -> int:
    parser = _build_table_parser()
    head, rest = _split_at_command(arguments)
    chosen = parser.parse_args(head)
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    command = chosen.command or (None if at_terminal else "serve")
    if command is None:
        parser.print_help(sys.stderr)
        return USAGE
    module, command_parser = load_command(command)
    options = command_parser.parse_args(rest, argparse.Namespace(config=chosen.config))
    return _with_mistakes_worded(module.main, options)


def print_table() -> None:
    """Print the commands there are."""
    _build_table_parser().print_help()


def load_command(command: str) -> tuple[ModuleType, argparse.ArgumentParser]:
    """Import the module of a command, and build the parser of its arguments."""
    module = importlib.import_module(f"onetool.cli.{_MODULES.get(command, command.replace('-', '_'))}")
    parser = _build_command_parser(command, epilog=getattr(module, "EPILOG", None))
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    return module, parser


def _split_at_command(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split after the command's name: what follows goes to the command's own parser, unchanged."""
    for index, argument in enumerate(arguments):
        if argument in COMMANDS and arguments[index - 1 : index] != ["--config"]:
            return arguments[: index + 1], arguments[index + 1 :]
    return arguments, []


def _build_table_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        "onetool",
        usage="onetool [--config PATH] COMMAND ...",
        description="One MCP tool, run(command): Python that can call every tool you have.",
        epilog="commands:\n" + "\n".join(f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    parser.add_argument("--config", type=Path, metavar="PATH", help="read only this configuration file")
    parser.add_argument("command", nargs="?", choices=list(COMMANDS), metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


def _build_command_parser(command: str, *, epilog: str | None) -> argparse.ArgumentParser:
    about = COMMANDS[command]
    about = f"{about[:1].upper()}{about[1:]}."
    parser = argparse.ArgumentParser(f"onetool {command}", description=about, epilog=epilog)
    parser.add_argument(
        "--config",
        type=Path,
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="read only this configuration file",
    )
    return parser


class _ShowVersion(argparse.Action):
    """Looks the version up only when somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # start-up path: 30 ms that only this option needs

        from mcp_core.distribution import DISTRIBUTION

        sys.stdout.write(f"onetool {version(DISTRIBUTION)}\n")
        parser.exit()


def _with_mistakes_worded(command: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Report a mistake in the configuration, or a store that is gone, in one line for any command."""
    from ot.errors import ConfigError  # start-up path: `onetool --help` needs nothing of the engine
    from ot.store.unavailable import StoreUnavailableError

    try:
        return command(options)
    except ConfigError as mistake:
        # Only a mistake needs the words.
        from onetool.cli.printing import complain
        from ot.execution.wording import word_error

        complain(f"onetool: {word_error(mistake)}")
        return USAGE
    except StoreUnavailableError as gone:
        from onetool.cli.printing import complain

        complain(f"onetool: {gone.reason}. Try again once the database answers (store in the configuration).")
        return FAILED
