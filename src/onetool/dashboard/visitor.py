"""The visitor of a page: who they are, what they may see, and their engine."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from mcp_core.json_types import Json, JsonObject
from onetool.console.caller import make_caller
from ot.app import App
from ot.clients.caller import Caller
from ot.clients.person import LOCAL, Person

CLIENT = "dashboard"
"""The name under which calls from here are recorded."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever is logged in, for one request."""

    person: Person
    admin: bool  # looks after the server of a team
    session: str  # its name, which the browser does not know
    app: App

    @property
    def sees_log(self) -> bool:
        """True if the log of the server is theirs to read: their own server, or one that they look after."""
        return self.admin or not self.person.issuer

    @property
    def caller(self) -> Caller:
        return make_caller(CLIENT, principal=self.person.principal)

    @property
    def form_token(self) -> str:
        """The word that every form of this session carries, and no other site can know."""
        return hmac.new(self.session.encode(), b"form", hashlib.sha256).hexdigest()

    def part(self, kind: type[Part]) -> Part:
        """Return a part of the engine, as the `ot` pack finds it; raises ToolError where there is none."""
        return self.app.executor.context_for(CLIENT, self.caller).part(kind)


def describe_person(person: Person) -> JsonObject:
    """Describe a person for a ticket."""
    return {
        "issuer": person.issuer,
        "subject": person.subject,
        "name": person.name,
        "groups": [*sorted(person.groups)],
    }


def read_person(facts: Mapping[str, Json]) -> Person:
    """Read a person from a ticket."""
    issuer, subject, name = (str(facts[key]) for key in ("issuer", "subject", "name"))
    groups = facts["groups"]
    return Person(issuer, subject, name, frozenset(map(str, groups if isinstance(groups, list) else ())))


def word_principal(principal: str) -> str:
    """Return a principal as a person reads it."""
    try:
        issuer, subject = json.loads(principal)
    except ValueError:
        return principal or LOCAL
    return f"{subject} ({issuer})"


def shown_name(person: Person) -> str:
    """Return what a person is called on a page."""
    return person.name or person.subject
