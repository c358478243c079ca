"""Plain requests without a session, over HTTP: the same messages that the front reads at stdin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mcp_core.json_types import JsonObject
from onetool.front.commands import Client, Commands
from onetool.front.definition import define_tool, final_name
from onetool.front.messages import CALL, DISCOVER, LIST, Request, read_command, read_request
from onetool.front.offer import Offer
from onetool.front.operations import TRACE, timed_operation
from onetool.front.rendering import PlainResults, ProgressReport, render_answer
from ot.clients.claims import Abilities
from ot.clients.front import Front
from ot.clients.person import Person
from ot.run.answer import Answer
from ot.telemetry.telemetry import Telemetry

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


class PlainRequests:
    """Reads and answers the requests that need nothing of the SDK."""

    def __init__(self, commands: Commands, offer: Offer, results: PlainResults, telemetry: Telemetry) -> None:
        self._commands = commands
        self._offer = offer
        self._results = results
        self._telemetry = telemetry
        self._tool = final_name()

    def read(self, body: bytes, headers: Mapping[str, str]) -> Request | None:
        """Read a plain request whose headers say the same; None for any other, and where requests are traced."""
        if self._telemetry.tracer is not None or TRACE in headers:
            return None
        request = read_request(body)
        if request is None or not request.sessionless or request.method not in (CALL, DISCOVER, LIST):
            return None
        said = headers.get("mcp-method"), headers.get("mcp-protocol-version")
        if said != (request.method, request.revision) or (
            request.method == CALL and not self._is_run(request, headers)
        ):
            return None
        return request

    def _is_run(self, request: Request, headers: Mapping[str, str]) -> bool:
        return (
            read_command(request, self._tool) is not None
            and headers.get("mcp-name") == self._tool
            and not Abilities.read(request.capabilities).any
        )

    async def answer(self, request: Request, person: Person, report: Report) -> JsonObject:
        """Return the result of a plain request."""
        with timed_operation(self._telemetry, request.method) as operation:
            if request.method == DISCOVER:
                self._commands.apps.clients_of(person).note(Abilities.read(request.capabilities))
                return self._results.discover()
            if request.method == LIST:
                listed: JsonObject = {"tools": [define_tool(self._tool, await self._offer.describe(person))]}
                return self._results.complete(listed, sessionless=True, cached=True)
            answer = await self._run(request, person, report)
            operation.failed = answer.is_error
            return self._results.complete(render_answer(answer, request.revision), sessionless=True)

    async def _run(self, request: Request, person: Person, report: Report) -> Answer:
        memory = self._commands.clients.shared(person.principal)
        front = Front(object(), sessionless=True)
        client = Client(person, request.client, memory, front, ProgressReport(report))
        outcome = await self._commands.run(read_command(request, self._tool) or "", client)
        assert isinstance(outcome, Answer), "a client that cannot be asked is asked nothing"
        return outcome
