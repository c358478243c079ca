"""A person as the front door knows them: who vouches for them, what they are called, which groups they are in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from mcp_core.quick_dataclass import dataclass

LOCAL = "local"
"""The principal on a person's own machine."""

KEYS_ISSUER = "onetool"
"""The issuer of API keys, whose subject is the name that a key was made for."""


@dataclass(frozen=True, slots=True)
class Person:
    """Issuer and subject are who it is, never a token; a name and groups are what the issuer says of them now."""

    issuer: str
    subject: str
    name: str = ""
    groups: frozenset[str] = frozenset()

    @property
    def principal(self) -> str:
        """One text for issuer and subject, which no other pair has; `local` on a person's own machine."""
        return _join(self.issuer, self.subject) if self.issuer else self.subject


@lru_cache(maxsize=1024)
def _join(issuer: str, subject: str) -> str:
    return json.dumps([issuer, subject], separators=(",", ":"))


LOCAL_PERSON = Person("", LOCAL)

_SERVED: ContextVar[str] = ContextVar("served", default="")


@contextmanager
def serving(person: Person) -> Iterator[None]:
    """Name the person in every log line that is written meanwhile, also by tasks that begin meanwhile."""
    token = _SERVED.set(person.principal)
    try:
        yield
    finally:
        _SERVED.reset(token)


served = _SERVED.get
"""Return the principal of the person who is served at this moment; empty where there is only one."""
