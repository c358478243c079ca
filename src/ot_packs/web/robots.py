"""The rules of `robots.txt`, fetched once per call for each site."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import anyio

from ot.errors import CallError
from ot_packs.net.bounded import Answer

_MAX = 500_000  # bytes that are read of it, as the standard asks for

Get = Callable[[str, int], Awaitable[Answer]]


class Robots:
    """The rules of the sites that a call has asked."""

    def __init__(self, get: Get, agent: str) -> None:
        self._get = get
        self._agent = agent
        self._rules: dict[str, RobotFileParser] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def allow(self, url: str) -> bool:
        """True if the site of a page lets programs read it."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._rules:
            async with self._locks.setdefault(site, anyio.Lock()):
                if site not in self._rules:
                    self._rules[site] = await self._read(site)
        return self._rules[site].can_fetch(self._agent, url)

    async def _read(self, site: str) -> RobotFileParser:
        try:
            answer = await self._get(f"{site}/robots.txt", _MAX)
        except CallError:
            return _rules()  # the page itself will say what is wrong with the site
        if answer.status in (401, 403):
            return _rules("User-agent: *", "Disallow: /")
        return _rules() if answer.status >= 400 else _rules(*answer.body.decode(errors="replace").splitlines())


def _rules(*lines: str) -> RobotFileParser:
    rules = RobotFileParser()
    rules.parse(lines)
    return rules
