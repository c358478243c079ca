"""`onetool keys`: API keys that give machines access to a team's server."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import closing
from datetime import UTC, datetime

from onetool.cli import OK
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table
from onetool.cli.start import load
from ot.config.paths import state_folder
from ot.store.logins import ApiKeys, new_key
from ot.store.opening import build_backend

EPILOG = "A key is shown once, when it is created; only its digest is stored. Its person is NAME of the issuer onetool."
_DAY = 86400.0
_DATE = "%Y-%m-%d"
_TIME = f"{_DATE}T%H:%M:%SZ"
_MOST = (12, 40, 40, 10)  # characters of each column


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    new = actions.add_parser("new", help="create a key and print it")
    new.add_argument("--for", dest="name", metavar="NAME", required=True, type=_name, help="the machine that uses it")
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
                key, text = new_key(options.name, groups=options.groups, now=time.time(), lifetime=options.days * _DAY)
                keys.add(key)
                say(text)
                expires = datetime.fromtimestamp(key.expires, UTC)
                complain(f"Key {key.id} for {key.name} expires on {expires:{_DATE}}. It is not shown again.")
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
