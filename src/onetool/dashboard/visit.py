"""A request for a page: who makes it, what they may see, and how it is answered."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onetool.console.caller import make_caller
from onetool.dashboard.pages import HEADERS, Pages
from onetool.replicas.team_state import TeamState
from ot.app import App
from ot.clients.caller import Caller
from ot.clients.person import LOCAL, Person

CLIENT = "dashboard"  # the name under which calls from here are recorded
Part = TypeVar("Part")
_LARGEST_FORM = 256 * 1024  # bytes
_MOST_FIELDS = 100
_FORM = "application/x-www-form-urlencoded"
SECTIONS = (
    ("/", "Live"),
    ("/servers", "Servers"),
    ("/extensions", "Extensions"),
    ("/results", "Results"),
    ("/statistics", "Statistics"),
    ("/errors", "Errors"),
    ("/audit", "Audit"),
    ("/rules", "Rules"),
)
FOR_MANY = (("/settings", "Settings"),)
FOR_ADMINS = (("/people", "People"), ("/replicas", "Replicas"))

DONE = {
    "answered": "The run goes on with your answer.",
    "refused": "The call was refused, and the run goes on without it.",
    "accepted": "What the server offers now is accepted.",
    "connected": "The server is connected.",
    "kept": "The secret is saved. Your next run can use it.",
    "removed": "The secret is removed.",
    "returned": "You are logged in to the server. You can close this page.",
    "saved": "Your settings are saved. They apply to your next run.",
    "replanned": "Something has changed since the page was shown. This is what would be taken back now.",
    "stopped": "The run has been told to stop.",
    "undone": "This run has undone the other one, and can be undone itself.",
}
"""Messages after a form; the address of a page can select one of these, and nothing else."""


@dataclass(frozen=True, slots=True)
class Visitor:
    person: Person
    admin: bool  # an administrator of a team's server
    session: str  # its name, which the browser does not know
    app: App

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
    try:
        issuer, subject = json.loads(principal)
    except ValueError:
        return principal or LOCAL
    return f"{subject} ({issuer})"


class RefusedFormError(Exception):
    """A form did not come from a page of this session; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Visit:
    request: Request
    who: Visitor
    pages: Pages
    origins: frozenset[str]
    everybody: Callable[[], Sequence[tuple[str, App]]]  # the engines that are open here, for administrators
    team: TeamState  # what all replicas tell, for administrators

    @property
    def query(self) -> dict[str, str]:
        return dict(self.request.query_params)

    def show(self, template: str, **context: object) -> Response:
        return self.render(template, context)

    def render(self, template: str, context: dict[str, object], *, status: int = 200) -> Response:
        return self.pages.page(template, self._surroundings() | context, status=status)

    def show_failure(self, status: int, heading: str, reason: str) -> Response:
        return self.render("failed.html.j2", {"heading": heading, "reason": reason}, status=status)

    def show_no_page(self) -> Response:
        """Say that there is no such page, even if others can see it."""
        return self.show_failure(404, "Page not found", "There is no such page.")

    def show_live(self, template: str, part: str, **context: object) -> Response:
        """Return a page with a part that is updated, or only that part, for a page that is open."""
        if "live" in self.request.query_params:
            known = self.request.headers.get("if-none-match", "")
            return self.pages.part(part, {**self._surroundings(), **context}, known=known)
        return self.show(template, **context)

    def _surroundings(self) -> dict[str, object]:
        path = self.request.url.path
        own = FOR_MANY if self.who.app.own.secrets is not None else ()
        sections = SECTIONS + own + (FOR_ADMINS if self.who.admin else ())
        here = next((place for place, _ in sections if place != "/" and path.startswith(place)), "/")
        return {
            "sections": sections,
            "replica": self.team.name if self.who.app.own.secrets is not None else "",
            "here": here,
            "form_token": self.who.form_token,
            "person": self.who.person.name or self.who.person.subject,
            "project": str(self.who.app.executor.project),
            "done": DONE.get(self.request.query_params.get("done", ""), ""),
        }

    def go_to(self, path: str) -> Response:
        return RedirectResponse(path, status_code=303, headers=HEADERS)

    async def form(self) -> dict[str, str]:
        """Return the fields of a form that a page of this session sent; raises RefusedFormError."""
        fields = await read_form(self.request, self.origins)
        if not hmac.compare_digest(fields.pop("form_token", "").encode(), self.who.form_token.encode()):
            raise RefusedFormError("This form belongs to another session, or has expired.")
        return fields


View = Callable[[Visit], Awaitable[Response]]


async def read_form(request: Request, origins: frozenset[str]) -> dict[str, str]:
    """Return the fields of a form that one of our own pages sent; raises RefusedFormError."""
    origin = request.headers.get("origin")
    if origin not in origins:
        raise RefusedFormError(f"Forms are accepted only from pages of this server, not from {origin or 'elsewhere'}.")
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
        raise RefusedFormError(f"A form must be sent as {_FORM}.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_FORM:
            raise RefusedFormError("This form is too large.")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise RefusedFormError(f"This form cannot be read: {error}") from error
    return dict(fields)
