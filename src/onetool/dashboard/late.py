"""The dashboard, loaded by the first request for one of its pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.dashboard.tickets import Kind, MemoryTickets, SealedTickets, Tickets, address_of, describe_person
from onetool.front.late_app import ServedApps
from onetool.replicas.team_state import TeamState
from ot.clients.person import LOCAL_PERSON
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.seal_keys import FollowedKeys
from ot.store.opening import Backend

if TYPE_CHECKING:
    from onetool.dashboard.dashboard_app import DashboardApp

LINK_SECONDS = 300.0  # for which a link works


class LateDashboard:
    """Loads the dashboard on demand: most servers are used without it, and need no templates."""

    def __init__(self, loaded: LoadedConfig, address: str, hosts: Iterable[str], backend: Backend) -> None:
        self._backend = backend
        self._loaded = loaded
        self._auth = auth = loaded.config.auth
        self._address = address_of(auth.public_url or address, hosts)
        self._tickets: Tickets = MemoryTickets()
        self._door: DashboardApp | None = None
        self._turn = anyio.Lock()

    @property
    def url(self) -> str:
        return self._address.url

    async def make_link(self) -> str:
        """Return an address that opens the dashboard; on a personal server it logs in whoever opens it first, once."""
        if self._auth.in_force:
            return self._address.url
        ticket = await self._tickets.issue(Kind.LINK, describe_person(LOCAL_PERSON), seconds=LINK_SECONDS)
        return f"{self._address.url}/login?ticket={ticket}"

    def before(self, apps: ServedApps, team: TeamState) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            door = self._door or await self._load(apps, team)
            await door(scope, receive, send)

        return answer

    async def _load(self, apps: ServedApps, team: TeamState) -> DashboardApp:
        async with self._turn:
            if self._door is None:
                self._door = await anyio.to_thread.run_sync(self._build, apps, team)
            return self._door

    def _build(self, apps: ServedApps, team: TeamState) -> DashboardApp:
        from onetool.dashboard.dashboard_app import DashboardApp  # noqa: PLC0415 - the reason for this file

        if self._auth.issuer is None:
            return DashboardApp(self._address, self._tickets, apps, self._auth, team)
        from onetool.dashboard.openid import OpenIdLogin  # noqa: PLC0415 - only with an issuer

        state = state_folder(self._loaded.machine_home)
        tickets = SealedTickets(FollowedKeys(self._loaded.config, state), self._backend.build_ended_sessions(state))
        return DashboardApp(self._address, tickets, apps, self._auth, team, OpenIdLogin(self._auth, self._address))
