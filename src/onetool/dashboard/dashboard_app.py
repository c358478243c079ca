"""The ASGI application of the dashboard: no page is rendered before it is known for whom."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from onetool.dashboard.logins import CALLBACK, RENEWED_AFTER, SESSION_SECONDS, LoginError, Logins, Session
from onetool.dashboard.pages import HEADERS, Pages
from onetool.dashboard.tickets import LONGEST, Address, Tickets
from onetool.dashboard.views import VIEWS
from onetool.dashboard.visit import RefusedFormError, View, Visit, Visitor
from onetool.front.late_app import ServedApps
from onetool.http.connections import refuse_if_crowded
from onetool.replicas.team_state import TeamState
from ot.config.team import AuthSettings
from ot.errors import CallError, UnknownResultError, UnknownRunError
from ot.execution.invocation import call_error_from
from ot.execution.wording import word_error
from ot.logs import write_log
from ot.proxy.plan import CALLBACK as FROM_SERVER
from ot.store.owner import StoreUnavailableError

if TYPE_CHECKING:  # it needs the libraries of the extra `team`
    from onetool.dashboard.openid import OpenIdLogin


class DashboardApp:
    def __init__(
        self,
        address: Address,
        tickets: Tickets,
        apps: ServedApps,
        auth: AuthSettings,
        team: TeamState,
        openid: OpenIdLogin | None = None,
    ) -> None:
        self._openid = openid
        self._for_many = auth.in_force
        self._address = address
        self._logins = Logins(tickets, address, seconds=SESSION_SECONDS if openid is None else LONGEST)
        self._apps = apps
        self._team = team
        self._admins = frozenset(auth.admins)
        self._pages = Pages()
        self._routes = [Route(path, view, methods=[method]) for method, path, view in VIEWS]  # to match paths only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except StoreUnavailableError as error:
            response = self._ask_who(f"Your login cannot be checked at present: {error.reason}.", status=503)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith("/static/"):
            asset = self._pages.asset(path.removeprefix("/static/"))
            return asset or PlainTextResponse("There is no such file.\n", status_code=404, headers=HEADERS)
        if path in ("/login", CALLBACK):
            return await self._log_in(request)
        session = await self._logins.find(request)
        if session is None:
            reason = ""
            if self._openid is not None and request.method == "GET" and path == FROM_SERVER:
                # It returns from a login at a server: it goes to the issuer first, and comes back.
                try:
                    return await self._logins.send_away(*await self._openid.begin(f"{path}?{request.url.query}"))
                except LoginError as error:
                    reason = str(error)
            return self._ask_who(reason, status=401)
        other = refuse_if_crowded(request.scope) or await self._renew(session, request)
        if other is not None:
            return other
        person = session.person
        async with self._apps.use(person) as app:
            visitor = Visitor(person, bool(self._admins & person.groups), session.name, app)
            visit = Visit(request, visitor, self._pages, self._address.origins, self._apps.all_open, self._team)
            return await self._show(visit)

    async def _renew(self, session: Session, request: Request) -> Response | None:
        """Have the issuer confirm a person and their groups again when they open a page; None if that is not due."""
        asks = request.method == "GET" and "live" not in request.query_params
        if self._openid is None or session.age < RENEWED_AFTER or not asks or request.url.path.startswith("//"):
            return None
        query = f"?{request.url.query}" if request.url.query else ""
        try:
            return await self._logins.send_away(*await self._openid.begin(f"{request.url.path}{query}"))
        except LoginError as error:  # the issuer does not answer; the session is valid for some time yet
            write_log(logging.WARNING, "dashboard.login", error=str(error))
            return None

    async def _log_in(self, request: Request) -> Response:
        """Log in the browser with a link; or send it to the issuer, or log it in when it comes back from there."""
        if self._openid is None:
            ticket = request.query_params.get("ticket", "")
            if request.method == "GET" and ticket and (opened := await self._logins.redeem(ticket)) is not None:
                return opened
            return self._ask_who("This link has already been used, or has expired." if ticket else "", status=401)
        try:
            if request.url.path != CALLBACK:
                return await self._logins.send_away(*await self._openid.begin("/"))
            facts = await self._logins.come_back(request)
            if facts is None:
                return self._ask_who("This login took too long, or was started in another browser.", status=401)
            person, id_token = await self._openid.finish(facts, dict(request.query_params))
        except LoginError as error:
            write_log(logging.WARNING, "dashboard.login", error=str(error))
            return self._ask_who(str(error), status=401)
        write_log(logging.INFO, "dashboard.login", principal=person.principal)
        async with self._apps.use(person) as app:
            try:
                await app.servers.keep_identity(id_token)
            except OSError as error:  # servers that need it say that they do
                write_log(logging.WARNING, "dashboard.login", not_kept=error.strerror or type(error).__name__)
        return await self._logins.open(person, facts["path"], before=await self._logins.find(request))

    def _ask_who(self, said: str, *, status: int) -> Response:
        issuer = self._openid.issuer if self._openid is not None else ""
        context = {"said": said, "issuer": issuer, "for_many": self._for_many}
        return self._pages.page("login.html.j2", context, status=status)

    async def _show(self, visit: Visit) -> Response:
        scope = visit.request.scope
        matches = [(*route.matches(scope), route.endpoint) for route in self._routes]
        full = next(((found, view) for match, found, view in matches if match is Match.FULL), None)
        try:
            if (scope["method"], scope["path"]) == ("POST", "/logout"):
                await visit.form()
                response = self._ask_who("You are logged out.", status=200)
                await self._logins.close(visit.request, response)
                return response
            if full is None:
                allowed = any(match is Match.PARTIAL for match, _, _ in matches)
                reason = "This page does not accept such requests." if allowed else "There is no such page."
                return visit.show_failure(405 if allowed else 404, "Page not found", reason)
            scope["path_params"] = full[0]["path_params"]
            view: View = full[1]
            return await view(visit)
        except RefusedFormError as error:
            return visit.show_failure(403, "Refused", str(error))
        except CallError as error:
            status = 404 if isinstance(error, UnknownResultError | UnknownRunError) else 409
            return visit.show_failure(status, "That did not work", word_error(error))
        except Exception as error:  # noqa: BLE001 - an error in a page must not end the server
            return visit.show_failure(500, "Internal error", word_error(call_error_from(error, "dashboard")))
