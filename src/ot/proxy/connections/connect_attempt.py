"""One attempt to connect, during which a person may have to log in, and the wait before the next one."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable

from mcp_core.backoff import wait_after
from mcp_core.json_types import JsonObject
from ot.attempt import Attempt
from ot.clients.front import ELICIT, Front, FrontError
from ot.logs import write_log
from ot.proxy.status import CallsInFlight, ConnectFailedError, front_of

LONGEST = 30.0  # seconds


class ConnectAttempt(Attempt):
    """An attempt, made by the server, which sets its outcome."""

    def __init__(self, server: str, way_to_log_in: str) -> None:
        super().__init__(f"connecting to the server {server}")
        self.failure: ConnectFailedError | None = None
        self._server = server
        self._way_to_log_in = way_to_log_in

    def settle(self, failure: ConnectFailedError | None) -> None:
        """Note the outcome; only the first one counts."""
        if not self.done:
            self.failure = failure
            self.finish()

    async def send_to(self, url: str, calls: CallsInFlight | None) -> None:
        """Send a person behind a waiting call to a web page; raises ConnectFailedError."""
        waiting = [(context, front_of(context)) for context in reversed(self.waiting)]
        for context, front in [*waiting, *(calls.fronts() if calls is not None else ())]:
            if front is not None and (front.able.can_open_urls or front.able.can_elicit):
                self.tell(f"waiting for somebody to log in to the server {self._server}")
                with context.held():
                    await self._ask(front, url)
                return
        raise ConnectFailedError("needs a person to log in, and nobody can be asked here", remedy=self._way_to_log_in)

    async def _ask(self, front: Front, url: str) -> None:
        message = f"The server {self._server} asks you to log in so that OneTool can use it."
        asked: JsonObject
        if front.able.can_open_urls:
            asked = {"mode": "url", "message": message, "url": url, "elicitationId": secrets.token_hex(8)}
        else:
            schema: JsonObject = {"type": "object", "properties": {}}
            asked = {"mode": "form", "message": f"{message} Open this address: {url}", "requestedSchema": schema}
        try:
            answer = await front.request(ELICIT, asked, "")
        except FrontError as error:
            write_log(logging.WARNING, "proxy.login", server=self._server, reason=str(error))
            answer = {}
        if answer.get("action") != "accept":
            raise ConnectFailedError("needs a person to log in, and they declined", remedy=self._way_to_log_in)


class Backoff:
    """The first attempt after a success is made at once; each failure doubles the wait after it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._not_before = 0.0

    def remaining(self) -> float:
        """Seconds until it may be tried again."""
        return max(0.0, self._not_before - self._clock())

    def fail(self) -> None:
        wait = wait_after(self._failures, first=0.5, longest=LONGEST) if self._failures else 0.0
        self._failures += 1
        self._not_before = self._clock() + wait

    def succeed(self) -> None:
        self._failures = 0
        self._not_before = 0.0
