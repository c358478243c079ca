"""Known secret values become `***`, however they are quoted or encoded in a text."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable, Iterator
from threading import Lock
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 6  # shorter values would blank out ordinary words
_LONG = 500  # characters, from which on searching for one form after the other is faster than one pattern for all
_TO_URLSAFE = str.maketrans("+/", "-_")


class KnownSecrets:
    """The secret values to hide from text; more can be learnt while it is used."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.known: frozenset[str] = frozenset()  # every text that is masked
        self.active = False  # there is something to mask
        self._compiled = (self.known, re.compile(""))
        self._learning = Lock()
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """Mask this value from now on, also quoted or encoded; one of fewer than six characters is left alone."""
        if len(secret) >= SHORTEST and secret not in self.known:
            with self._learning:
                self.known = self.known.union(_forms_of(secret))
                self.active = True

    def text(self, text: str) -> str:
        forms, pattern = self._compiled
        if forms is not self.known:
            forms, pattern = self._compile()
        if not forms or (len(text) > _LONG and not any(map(text.__contains__, forms))):
            return text
        return pattern.sub(MASK, text)

    def _compile(self) -> tuple[frozenset[str], re.Pattern[str]]:
        forms = self.known
        # The longest first: a secret may begin with another one.
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._compiled = (forms, re.compile("|".join(map(re.escape, longest_first))))
        return self._compiled


def _forms_of(secret: str) -> Iterator[str]:
    yield secret
    yield repr(secret)[1:-1]
    for ascii_only in (True, False):
        quoted = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield quoted
        yield json.dumps(quoted, ensure_ascii=ascii_only)[1:-1]  # JSON as a text in JSON
    raw = secret.encode("utf-8", "surrogatepass")
    yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))
    for form in _base64_forms(raw):
        yield form
        yield form.translate(_TO_URLSAFE)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Encode it alone, and as part of something longer: the characters that depend on the secret alone."""
    yield binascii.b2a_base64(raw, newline=False).decode()
    for before in range(3):
        encoded = binascii.b2a_base64(bytes(before) + raw, newline=False).decode()
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
