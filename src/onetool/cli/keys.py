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
from ot.store.logins import ApiKey, ApiKeys, new_key
from ot.store.opening import build_backend

EPILOG = "A key is shown once, when it is created; only its digest is stored. Its person is NAME of the issuer onetool."
_DAY = 86400.0
_MOST = (12, 40, 40, 10)  # characters of each column


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    new = actions.add_parser("new", help="create a key and print it")
    new.add_argument("--for", dest="name", metavar="NAME", required=True, type=_name, help="the machine that uses it")
    new.add_argument("--groups", metavar="GROUP", nargs="+", default=[], type=_name, help="the groups it belongs to")
    new.add_argument("--days", metavar="N", type=_days, default=365.0, help="days until it expires (default: 365)")
    listing = actions.add_parser("list", help="list the keys (default)")
    revoke = actions.add_parser("revoke", help="revoke a key, or all keys of a name")
    revoke.add_argument("key", metavar="ID|NAME")
    for each in (parser, listing):
        add_json_argument(each)


def main(options: Namespace) -> int:
    loaded = load(options)
    try:
        with closing(build_backend(loaded.config.store)) as backend:
            keys = backend.build_api_keys(state_folder(loaded.home))
            match options.action:
                case "new":
                    return _make(keys, options, in_force=loaded.config.auth.in_force)
                case "revoke":
                    return _revoke(keys, options.key)
            return _list(keys, as_json=options.json)
    except OSError as error:
        return fail(f"onetool keys: {error.filename or 'the store'}: {error.strerror}")


def _make(keys: ApiKeys, options: Namespace, *, in_force: bool) -> int:
    key, text = new_key(options.name, groups=options.groups, now=time.time(), lifetime=options.days * _DAY)
    keys.add(key)
    say(text)
    complain(f"Key {key.id} for {key.name} expires on {_day(key.expires)}. It is not shown again.")
    if not in_force:
        complain("It cannot be used yet, because `auth` is not configured. Set auth.public_url in the configuration.")
    return OK


def _list(keys: ApiKeys, *, as_json: bool) -> int:
    entries, now = keys.entries(), time.time()
    if as_json:
        say_json([_describe(key, now) for key in entries])
    elif entries:
        ends = ("expired" if key.expires <= now else _day(key.expires) for key in entries)
        rows = [(key.id, key.name, ", ".join(key.groups) or "-", end) for key, end in zip(entries, ends, strict=True)]
        say_table(rows, _MOST, ("key", "for", "groups", "expires"))
    else:
        complain("There are no API keys; `onetool keys new --for NAME` creates one.")
    return OK


def _describe(key: ApiKey, now: float) -> dict[str, object]:
    created, expires = (
        datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for when in (key.created, key.expires)
    )
    known = {"id": key.id, "for": key.name, "groups": list(key.groups), "created": created, "expires": expires}
    return {**known, "expired": key.expires <= now}


def _revoke(keys: ApiKeys, wanted: str) -> int:
    found = [key for key in keys.entries() if wanted in (key.id, key.name)]
    chosen = [key for key in found if key.id == wanted] or found
    for key in chosen:
        keys.remove(key.id)
        say(f"Key {key.id} for {key.name} is revoked.")
    if not chosen:
        return fail(f"There is no key with the id or name {wanted!r}; `onetool keys list` shows all keys.")
    return OK


def _day(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d")


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
