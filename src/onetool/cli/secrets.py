"""`onetool secrets`: a person's own secrets, in secrets.yaml or in the keychain; no value is ever printed."""

from __future__ import annotations

import getpass
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.connect import near
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table
from onetool.foreign.secrets_file import known_secrets, put_secret, remove_secret
from ot.config.paths import FOLDER, SECRETS_FILE
from ot.config.personal_secrets import LONGEST_SECRET
from ot.config.secrets import Deferred, is_name, whole
from ot.errors import KeychainError

EPILOG = (
    "Without an action, lists the names. A value is typed unseen, or comes through a pipe; it is never printed, and "
    "never an argument, which your shell would remember. --keyring keeps it in your system's keychain; secrets.yaml "
    "refers to it. Exit status: 0; 1 if a secret cannot be read or kept; 2 for usage or configuration errors."
)
_WIDTHS = (60, 40)


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    put = actions.add_parser("set", help="set a secret, or replace it")
    put.add_argument("name", metavar="NAME")
    put.add_argument("--keyring", action="store_true", help="keep it in the keychain; without, it stays where it is")
    put.add_argument("values", nargs="*", help=SUPPRESS)  # refused without showing it, which argparse would
    test = actions.add_parser("test", help="read each secret, and say which cannot be read")
    test.add_argument("names", nargs="*", metavar="NAME")
    remove = actions.add_parser("remove", help="remove a secret, also from the keychain")
    remove.add_argument("name", metavar="NAME")


def main(options: Namespace) -> int:
    file = Path.home() / FOLDER / SECRETS_FILE
    match options.action:
        case "set":
            return _set(options, file)
        case "test":
            return _test(options.names, file)
        case "remove":
            if options.name not in known_secrets(file):
                return fail(f"onetool secrets: there is no such name in {near(file)}", USAGE)
            remove_secret(file, options.name)
            say(f"Removed {options.name}.")
            return OK
    places = {name: _place(value) for name, value in known_secrets(file).items()}
    if options.json:
        say_json(places)
    elif places:
        say_table(places.items(), _WIDTHS)
    else:
        say(f"There are no secrets in {near(file)}; `onetool secrets set NAME` adds one.")
    return OK


def _place(value: str) -> str:
    return "keychain" if isinstance(value, Deferred) else SECRETS_FILE if value else f"{SECRETS_FILE}, empty"


def _set(options: Namespace, file: Path) -> int:
    name = options.name
    if options.values:
        return fail(
            "onetool secrets: type the value when asked, or pipe it in; as an argument others can see it", USAGE
        )
    if not is_name(name):
        # It may be the value itself, typed where the name belongs.
        return fail("onetool secrets: a NAME has letters, digits and _ only, and no digit at its start", USAGE)
    keychain = options.keyring or isinstance(known_secrets(file).get(name), Deferred)
    if sys.stdin.isatty():
        value = getpass.getpass(f"Value of {name} (not shown): ")
    else:
        value = sys.stdin.read(LONGEST_SECRET + 2).removesuffix("\n").removesuffix("\r")
    if not value or len(value) > LONGEST_SECRET:
        return fail(f"onetool secrets: a secret has 1 to {LONGEST_SECRET:,} characters; nothing was changed", USAGE)
    put_secret(file, name, value, keychain=keychain)
    say(f"{name} is set in {'the keychain' if keychain else near(file)}.")
    return OK


def _test(names: list[str], file: Path) -> int:
    known, status = known_secrets(file), OK
    for name in names or known:
        try:
            if name not in known:
                outcome = f"is not in {near(file)}"
            else:
                outcome = "" if whole(known[name], lambda _: None) else "is empty"
        except KeychainError as error:
            outcome = f"{error.reason}; {error.fix}"
        if outcome:
            complain(f"{_shown(name)}: {outcome}")
            status = FAILED
        else:
            say(f"{name}: can be read ({_place(known[name])})")
    return status


def _shown(name: str) -> str:
    return name if is_name(name) else "this name"
