"""The person behind a request: who they are, what they may see, and their engine."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TypeVar

from onetool.console.caller import make_caller
from ot.app import App
from ot.clients.caller import Caller
from ot.clients.person import LOCAL, Person

CLIENT = "dashboard"
"""The name under which calls from here are recorded."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Visitor:
    """A logged-in person, for one request."""

    person: Person
    admin: bool  # an administrator of a team's server
    session: str  # its name, which the browser does not know
    app: App

    @property
    def sees_log(self) -> bool:
        """True if they may read the log of the server: it is their own, or they are an administrator."""
        return self.admin or not self.person.issuer

    @property
    def caller(self) -> Caller:
        return make_caller(CLIENT, principal=self.person.principal)

    @property
    def form_token(self) -> str:
        """The token in every form of this session, which no other site can know."""
        return hmac.new(self.session.encode(), b"form", hashlib.sha256).hexdigest()

    def part(self, kind: type[Part]) -> Part:
        """Return a part of the engine, as the `ot` pack finds it; raises ToolError where there is none."""
        return self.app.executor.context_for(CLIENT, self.caller).part(kind)


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
