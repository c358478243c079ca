"""Secrets written in clear text: recognised, and kept out of a configuration file."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field

_NAMES = re.compile(
    r"token|secret|passw|passphrase|pwd|api[-_]?key|apikey|access[-_]?key|private[-_]?key|_key$|^key$|credential|auth"
    r"|bearer|cookie|session[-_]?id|jwt|(^|[-_])pat$|(^|[-_])sig(nature)?$|dsn|connection[-_]?string|webhook",
    re.IGNORECASE,
)
# Names of the kind or place of authentication, not of a secret.
_HARMLESS = re.compile(
    r"(type|method|mode|url|uri|endpoint|host|port|file|path|dir|enabled|timeout|max[-_]tokens|name|id)$", re.I
)
_VALUES = re.compile(
    r"(sk|pk|rk|ghp|gho|ghu|ghs|ghr|glpat|xox[a-z]|npm|pypi|dop_v1|shpat|hf|lin_api|ntn|secret|tvly|fc)[-_][A-Za-z0-9_-]{8,}"
    r"|github_pat_\w{10,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}.*|-----BEGIN [\s\S]*"
)
_PLAIN = re.compile(r"(\d+(\.\d+)?|true|false|yes|no|on|off|none|null)?", re.IGNORECASE)
_RANDOM = re.compile(r"[A-Za-z0-9+/_=.-]{20,}")
# Digits, and either letters of both kinds or nothing but hexadecimal ones.
_MIXED = re.compile(r"(?=.*\d)(?:(?=.*[a-z])(?=.*[A-Z])|[0-9a-f]+$)(?!-)")
_SCHEME = re.compile(r"(?P<scheme>(?:bearer|basic|token|apikey)\s+)(?P<secret>\S.*)", re.IGNORECASE | re.DOTALL)
_IN_ADDRESS = re.compile(r"://[^\s/@:]*:(?P<password>[^\s/@]+)@")
_IN_QUERY = re.compile(r"[?&](?P<name>[^=&#\s]+)=(?P<value>[^&#\s]+)")
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.+))?", re.DOTALL)
_REFERENCE = re.compile(r"(?<!\$)\$\{\w+\}")
_SHORTEST = 6
_MASK = "***"


def is_secret(name: str, value: str) -> bool:
    """True if a value should not be in a file that others may see; `name` is the name of the value."""
    if len(value) < _SHORTEST or _PLAIN.fullmatch(value) or _REFERENCE.search(value):
        return False
    if _VALUES.fullmatch(value) or _IN_ADDRESS.search(value):
        return True
    if _NAMES.search(name) and not _HARMLESS.search(name):
        return not value.startswith(("/", "./", "~/"))
    if not _RANDOM.fullmatch(value) or not _MIXED.match(value) or value.count("/") > 2 or "." in value:
        return False
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
    return entropy > 3.3  # bits: it looks random


def masked(name: str, value: str) -> str:
    """Return a value as it may be shown: a secret, or the part of it that is one, as `***`."""
    if is_secret(name, value):
        return _MASK
    for pattern, group in ((_IN_ADDRESS, "password"), (_IN_QUERY, "value")):
        for match in reversed(list(pattern.finditer(value))):
            if group == "password" or is_secret(match["name"], match["value"]):
                value = value[: match.start(group)] + _MASK + value[match.end(group) :]
    return value


@dataclass
class Vault:
    """Replaces secrets in values by references to names; one of `taken` is used only for the value that it has."""

    taken: dict[str, str]
    added: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, value: str, *, owner: str) -> str:
        """Return the reference to a secret, under its own name where that is free, else with the owner's before it."""
        value = value.replace("$${", "${")  # nothing is looked up inside a secret, so nothing is written twice there
        known = {**self.taken, **self.added}
        names, prefix = [_variable(name) or "SECRET"], _variable(owner)
        if prefix and not names[0].startswith(f"{prefix}_"):
            names.append(f"{prefix}_{names[0]}")
        for candidate in itertools.chain(names, (f"{names[-1]}_{number}" for number in itertools.count(2))):
            if known.get(candidate, value) == value:
                if candidate not in self.taken:
                    self.added[candidate] = value
                return f"${{{candidate}}}"
        raise AssertionError("the candidates have no end")

    def hide_value(self, name: str, value: str, *, owner: str) -> str:
        """Return a value with its secret taken out, all of it or the part that is one."""
        if match := _SCHEME.fullmatch(value):
            if len(match["secret"]) >= _SHORTEST and not _REFERENCE.search(value):
                return match["scheme"] + self.keep(name, match["secret"], owner=owner)
            return value
        return self.keep(name, value, owner=owner) if is_secret(name, value) else value

    def hide_address(self, url: str, *, owner: str) -> str:
        """Return an address without the password and the keys in it."""
        if (match := _IN_ADDRESS.search(url)) and not _REFERENCE.search(match["password"]):
            reference = self.keep(f"{owner}_PASSWORD", match["password"], owner=owner)
            url = url[: match.start("password")] + reference + url[match.end("password") :]
        parts, place = [], 0
        for match in _IN_QUERY.finditer(url):
            if is_secret(match["name"], match["value"]):
                reference = self.keep(f"{owner}_{match['name']}", match["value"], owner=owner)
                parts += [url[place : match.start("value")], reference]
                place = match.end("value")
        return "".join([*parts, url[place:]])

    def hide_arguments(self, arguments: list[str], *, owner: str) -> list[str]:
        """Return a command line without secrets: values of flags that are named like one, and what looks like one."""
        hidden: list[str] = []
        flag = ""
        for argument in arguments:
            match = _FLAG.fullmatch(argument)
            if match and match["value"] is not None:
                shown = self._hide_argument(match["name"], match["value"], owner)
                hidden.append(argument[: match.start("value")] + shown)
            elif match:
                hidden.append(argument)
            else:
                hidden.append(self._hide_argument(flag, argument, owner))
            flag = match["name"] if match and match["value"] is None else ""
        return hidden

    def _hide_argument(self, flag: str, value: str, owner: str) -> str:
        if "://" in value:
            return self.hide_address(value, owner=owner)
        if flag and _NAMES.search(flag):
            return self.hide_value(f"{owner}_{flag}", value, owner=owner) if is_secret(flag, value) else value
        if "=" in value:  # NAME=value, as `docker run -e` has it
            name, _, rest = value.partition("=")
            return f"{name}={self.hide_value(name, rest, owner=owner)}" if is_secret(name, rest) else value
        return self.keep(f"{owner}_{flag or 'SECRET'}", value, owner=owner) if _VALUES.fullmatch(value) else value


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper().lstrip("0123456789")
