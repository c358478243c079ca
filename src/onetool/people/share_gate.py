"""A limit on the open requests of each person, so that others can be served too."""

from __future__ import annotations

from collections import Counter

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.console.clean_text import count_of
from onetool.people.person_of import SCOPE_KEY
from ot.clients.person import Person


class ShareGate:
    """Answers 503 to a person with too many open requests; it comes after authentication."""

    def __init__(self, app: ASGIApp, *, requests: int) -> None:
        self._app = app
        self._most = requests
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        person: Person = scope[SCOPE_KEY]
        who = person.principal
        if self._open[who] >= self._most:
            await self._refuse(scope, receive, send)
            return
        self._open[who] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        words = f"You have reached the limit of {count_of(self._most, 'open request')}. Close one first.\n"
        await PlainTextResponse(words, 503, {"Retry-After": "1"})(scope, receive, send)
