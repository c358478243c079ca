"""One attempt to connect, and those who wait for it: their clocks stand still, and they are told how it goes."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Iterator
from typing import Any

import anyio

from ot.context import CallContext
from ot.front import Front, FrontError
from ot.logs import write_log
from ot.proxy.calls.in_flight import CallsInFlight, front_of
from ot.proxy.failures import ConnectFailedError

TOLD_EVERY = 2.0  # seconds


class Attempt:
    """Made by the server, which sets the outcome; any number of calls wait for it."""

    def __init__(self, server: str) -> None:
        self.done = False
        self.failure: ConnectFailedError | None = None
        self._server = server
        self._doing = f"connecting the server {server}"
        self._since = time.monotonic()
        self._changed = anyio.Event()
        self._waiting: list[CallContext] = []

    def finish(self, failure: ConnectFailedError | None) -> None:
        """The connection is there, or will not be."""
        if not self.done:
            self.failure = failure
            self.done = True
            self._wake()

    async def wait(self, context: CallContext | None) -> None:
        """Wait for the outcome on behalf of one call."""
        with context.held() if context is not None else contextlib.nullcontext(), self._listed(context):
            while not self.done:
                changed = self._changed
                with anyio.move_on_after(TOLD_EVERY):
                    await changed.wait()
                if context is not None and not self.done:
                    await context.progress(round(time.monotonic() - self._since, 1), None, self._doing)

    async def send_to(self, url: str, calls: CallsInFlight | None) -> None:
        """Send the person behind one of those who wait, or call, to a web page; raises ConnectFailedError."""
        waiting = [(context, front_of(context)) for context in reversed(self._waiting)]
        for context, front in [*waiting, *(calls.fronts() if calls is not None else ())]:
            if front is not None and (front.can_open_urls or front.can_elicit):
                self._doing = f"waiting until somebody has let OneTool use the server {self._server}"
                self._wake()
                with context.held():
                    await self._ask(front, url)
                return
        raise ConnectFailedError(
            "wants a person to log in, and nobody can be asked here",
            remedy=f"A person can do that with `onetool login {self._server}`.",
        )

    async def _ask(self, front: Front, url: str) -> None:
        message = f"The server {self._server} wants you to log in, so that OneTool may use it."
        asked: dict[str, Any]
        if front.can_open_urls:
            asked = {"mode": "url", "message": message, "url": url, "elicitationId": secrets.token_hex(8)}
        else:
            schema = {"type": "object", "properties": {}}
            asked = {"mode": "form", "message": f"{message} Open this address: {url}", "requestedSchema": schema}
        try:
            answer = await front.elicit(asked)
        except FrontError as error:
            write_log(logging.WARNING, "proxy.login", server=self._server, reason=str(error))
            answer = {}
        if answer.get("action") != "accept":
            raise ConnectFailedError(
                "wants a person to log in, who did not",
                remedy=f"It can be done later with `onetool login {self._server}`.",
            )

    @contextlib.contextmanager
    def _listed(self, context: CallContext | None) -> Iterator[None]:
        if context is not None:
            self._waiting.append(context)
        try:
            yield
        finally:
            if context is not None:
                self._waiting.remove(context)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
