"""`onetool keys`: API keys that give machines access to a team's server."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from onetool.cli import OK
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table
from onetool.cli.start import load
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.store.logins import ApiKeys, new_key
from ot.store.opening import build_backend

EPILOG = "A key is shown once, when it is created; only its digest is stored. Its person is NAME of the issuer onetool."
_FROM = "the machines that use one each: a line has NAME, or NAME, GROUP, ...; prints NAME and key, with a tab between"
_DAY = 86400.0
_DATE = "%Y-%m-%d"
_TIME = f"{_DATE}T%H:%M:%SZ"
_MOST = (12, 40, 40, 10)  # characters of each column


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    new = actions.add_parser("new", help="create a key and print it")
    whom = new.add_mutually_exclusive_group(required=True)
    whom.add_argument("--for", dest="name", metavar="NAME", type=_name, help="the machine that uses it")
    whom.add_argument("--from", dest="file", metavar="FILE", type=Path, help=_FROM)
    new.add_argument("--groups", metavar="GROUP", nargs="+", default=[], type=_name, help="the groups it belongs to")
    new.add_argument("--days", metavar="N", type=_days, default=365.0, help="days until it expires (default: 365)")
    listing = actions.add_parser("list", help="list the keys (default)")
    actions.add_parser("revoke", help="revoke a key, or all keys of a name").add_argument("key", metavar="ID|NAME")
    for each in (parser, listing):
        add_json_argument(each)


def main(options: Namespace) -> int:
    loaded = load(options)
    try:
        with closing(build_backend(loaded.config.store)) as backend:
            keys = backend.build_api_keys(state_folder(loaded.home))
            if options.action == "new":
                _make(keys, options)
                if not loaded.config.auth.in_force:
                    why = "It cannot be used yet, because `auth` is not configured."
                    complain(f"{why} Set auth.public_url in the configuration.")
            elif options.action == "revoke":
                found = [key for key in keys.entries() if options.key in (key.id, key.name)]
                chosen = [key for key in found if key.id == options.key] or found
                for key in chosen:
                    keys.remove(key.id)
                    say(f"Key {key.id} for {key.name} is revoked.")
                if not chosen:
                    all_keys = "`onetool keys list` shows all keys"
                    return fail(f"There is no key with the id or name {options.key!r}; {all_keys}.")
            else:
                _list(keys, as_json=options.json)
            return OK
    except OSError as error:
        return fail(f"onetool keys: {error.filename or 'the store'}: {error.strerror}")


def _make(keys: ApiKeys, options: Namespace) -> None:
    """Create a key, or one for each line of a file, and print what opens with it; raises ConfigError."""
    wanted = [(options.name, [])] if options.file is None else _read_names(options.file)
    for name, groups in wanted:
        given = [*dict.fromkeys([*groups, *options.groups])]
        key, text = new_key(name, groups=given, now=time.time(), lifetime=options.days * _DAY)
        keys.add(key)
        say(text if options.file is None else f"{name}\t{text}")
        expires = datetime.fromtimestamp(key.expires, UTC)
        complain(f"Key {key.id} for {key.name} expires on {expires:{_DATE}}. It is not shown again.")


def _read_names(file: Path) -> list[tuple[str, list[str]]]:
    """Return the names in a file with their groups; raises ConfigError before any key is made."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "it is not text in UTF-8"
        raise ConfigError(f"cannot be read: {reason}", file=file, key="--from") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            try:
                name, *groups = (_name(part) for part in line.split(","))
            except ArgumentTypeError as error:
                raise ConfigError(f"line {number}: {error}", file=file, key="--from") from error
            found.append((name, groups))
    if not found:
        raise ConfigError("contains no name", file=file, key="--from", fix="write NAME, GROUP, ... on each line")
    return found


def _list(keys: ApiKeys, *, as_json: bool) -> None:
    described, rows = [], []
    for key in keys.entries():
        expired = key.expires <= time.time()
        created, expires = (datetime.fromtimestamp(when, UTC) for when in (key.created, key.expires))
        times = {"created": f"{created:{_TIME}}", "expires": f"{expires:{_TIME}}", "expired": expired}
        described.append({"id": key.id, "for": key.name, "groups": list(key.groups), **times})
        rows.append((key.id, key.name, ", ".join(key.groups) or "-", "expired" if expired else f"{expires:{_DATE}}"))
    if as_json:
        say_json(described)
    elif rows:
        say_table(rows, _MOST, ("key", "for", "groups", "expires"))
    else:
        complain("There are no API keys; `onetool keys new --for NAME` creates one.")


def _name(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ArgumentTypeError("a name must be one line of printable characters")
    return text.strip()


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= 36500:
        raise ArgumentTypeError("must be a number of days, such as 90")
    return days
