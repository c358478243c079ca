"""The log of an MCP server, without secrets: known values, and whatever has a telling name, such as `password`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from mcp_core.known_secrets import MASK, KnownSecrets
from mcp_core.line_log import LEVELS, Level, send_log

MAX_DEPTH = 20
_WORDS = (
    r"(?:api|access|auth|client|encryption|private|secret|session|signing)[_\-.\s]?(?:key|token|secret)s?"
    r"|authori[sz]ation|bearer|cookie|credentials?|pass(?:words?|wd|phrase)|pwd|secrets?|tokens?|jwt"
)
_NAME = re.compile(rf"(?:^|[^a-z])(?:{_WORDS})(?:$|[^a-z])", re.IGNORECASE)
# A telling name, what separates it from its value, and the scheme of an Authorization header.
_BEFORE_VALUE = re.compile(
    rf"""(?<![a-z])(?:{_WORDS})(?![a-z])[\w\-]{{0,40}}\\?["']?\s{{0,8}}(?:=>|[:=])\s{{0,8}}(?:(?:basic|bearer|token)\s{{1,8}})?"""
    r"|\bbearer\s+",
    re.IGNORECASE,
)
_PLAIN_VALUE = re.compile(r"""[^\s,;&"'()\[\]{}]+""")
_QUOTED = re.compile(r"""[bru]?\\?(["'])(?:\\.|(?!\1).)*(?:\1|$)""", re.IGNORECASE | re.DOTALL)
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def looks_secret(name: str) -> bool:
    # camelCase is split: apiKey is api_Key, while tokenizer stays one word.
    return _NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None


class Redactor(KnownSecrets):
    """Masks known secrets, and whatever has a telling name, in text and in values of any depth."""

    def text(self, text: str) -> str:
        return _mask_named(_IN_ADDRESS.sub(f"{MASK}:{MASK}", super().text(text)))

    def value(self, value: object) -> object:
        """Return a copy without secrets, cut below twenty levels; types that JSON lacks stay as they are."""
        return self._visit(value, MAX_DEPTH)

    def _visit(self, value: object, levels: int) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (Mapping, list, tuple, set, frozenset)) and not levels:
            return "..."
        if isinstance(value, Mapping):
            return {
                key: MASK if isinstance(key, str) and looks_secret(key) else self._visit(item, levels - 1)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._visit(item, levels - 1) for item in value]
        return value


def _mask_named(text: str) -> str:
    """Replace the value after each telling name: a quoted text, everything in brackets, or a word."""
    parts = []
    end = 0
    for found in _BEFORE_VALUE.finditer(text):
        if found.start() >= end:
            parts += [text[end : found.end()], MASK]
            end = _end_of_value(text, found.end())
    return "".join([*parts, text[end:]]) if parts else text


def _end_of_value(text: str, start: int) -> int:
    if quoted := _QUOTED.match(text, start):
        return quoted.end()
    closing = _CLOSING.get(text[start : start + 1])
    if closing is None:
        plain = _PLAIN_VALUE.match(text, start)
        return plain.end() if plain else start
    depth = 0
    for index in range(start, len(text)):
        if text[index] == text[start]:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if not depth:
                return index + 1
    return len(text)


tool_log = logging.getLogger("mcp_core.tools")


def configure(*packages: str, level: Level = "info", file: Path | None = None, secrets: Iterable[str] = ()) -> Redactor:
    """Send the log of the process to stderr or to `file`: the server's from `level` on, libraries' from warnings on.

    `packages` are the server's own. Secrets are masked in every line: what stands under a name such as `password`, and
    the values in `secrets`; the redactor that is returned can learn more of them.
    Raises OSError where the file cannot be opened.
    """
    redactor = Redactor(secrets)
    send_log(file, redact=redactor.text, redact_argument=redactor.value)
    for name in ("mcp_core", *packages):
        logging.getLogger(name).setLevel(LEVELS[level])
    return redactor
