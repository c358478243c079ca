"""Pages fetched for one call: guarded, kept, read in a helper process."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import anyio
from anyio import to_thread

from mcp_core.atomic_write import write_file
from ot.context import CallContext, current
from ot.errors import CallError, ToolError
from ot.services.rate_limits import QueueTooLongError, RateLimit, RateLimits, Turn
from ot.services.retry_after import read_wait
from ot_packs.convert.markdown import Markdown
from ot_packs.helper_results import call_helper
from ot_packs.net.addresses import Allowed, read_allowed, read_target
from ot_packs.net.client import AGENT, MAX_REDIRECTS, Answer, GuardedClient, ask
from ot_packs.net.services import phrase_of
from ot_packs.web.bodies import decode_page, find_refresh, find_section
from ot_packs.web.cache import KeptPage, PageCache, questions
from ot_packs.web.feeds import Feed
from ot_packs.web.page import Page

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_GIVE_UP = 5.0  # seconds; a site that is unavailable, and does not say for how long, is not waited for any longer
_MAX_RULES = 500_000  # bytes that are read of a robots.txt, as the standard asks for
Format = Literal["markdown", "text", "html"]
_HTML = ("text/html", "application/xhtml+xml")
_DOCUMENTS = (
    *("application/pdf", "application/epub+zip", "application/msword", "application/vnd.ms-"),
    *("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."),
)  # beginnings of what the pack `convert` reads
_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")


class Robots:
    """The rules of `robots.txt` of the sites that a call has asked, each fetched once."""

    def __init__(self, client: GuardedClient) -> None:
        self._client = client
        self._rules: dict[str, RobotFileParser] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def allow(self, url: str) -> bool:
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._rules:
            async with self._locks.setdefault(site, anyio.Lock()):
                if site not in self._rules:
                    self._rules[site] = await self._read(site)
        return self._rules[site].can_fetch(AGENT, url)

    async def _read(self, site: str) -> RobotFileParser:
        try:
            answer = await ask(self._client, "GET", f"{site}/robots.txt", limit=_MAX_RULES)
        except CallError:
            return _rules()  # the page itself will say what is wrong with the site
        if answer.status in (401, 403):
            return _rules("User-agent: *", "Disallow: /")
        return _rules() if answer.status >= 400 else _rules(*answer.body.decode(errors="replace").splitlines())


def _rules(*lines: str) -> RobotFileParser:
    rules = RobotFileParser()
    rules.parse(lines)
    return rules


def _read_size(config: Mapping[str, object], key: str, default: int) -> int:
    value = config.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ToolError(f"packs.web.{key} is not a number of bytes")
    return value


class Fetcher:
    """Fetches for one call; raises ToolError for an option of the pack that is wrong."""

    def __init__(self, context: CallContext, client: GuardedClient, allowed: Allowed) -> None:
        self._context, self._client, self._allowed = context, client, allowed
        self._max_size = _read_size(context.config, "max_size", 10_000_000)
        self._cache_size = _read_size(context.config, "cache_size", 100_000_000)
        self._cache = PageCache(context.state, size=self._cache_size)
        self._caching = anyio.Lock()
        self._found: dict[str, KeptPage | None] = {}  # of the addresses that are expected
        self._new: list[tuple[str, Answer]] = []  # answers that are not yet kept
        self._unkept = 0  # bytes of them
        self.robots = Robots(client)

    def check(self, url: str) -> None:
        """Raise AddressRefusedError for an address that is refused whatever it resolves to."""
        read_target(url, self._allowed)

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Answer:
        """Make a plain request, whose answer is not kept; raises AddressRefusedError, ToolError and others."""
        # If it only reads, and the site says that it is busy, it is made again as long as this call has time.
        self.check(url)
        paces, site = self._context.part(RateLimits), urlsplit(url).netloc
        turn = Turn(0, 0)
        while True:
            turn = await self._take_turn(paces.known("web", site), site, turn)
            answer = await ask(self._client, method, url, limit=self._max_size, headers=headers, content=content)
            if answer.status not in _BUSY or method not in ("GET", "HEAD"):
                if pace := paces.known("web", site):
                    pace.go_on()
                return answer
            asked = read_wait(answer.headers)
            if asked is not None and asked > self._context.remaining():
                return answer
            wait = paces.pace_of("web", site).put_off(turn, asked)
            most = self._context.remaining()
            if asked is None and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                most = min(most, _GIVE_UP)
            if wait > most:
                return answer

    async def _take_turn(self, pace: RateLimit | None, site: str, refused: Turn) -> Turn:
        try:
            return await pace.take_turn(0.0, within=self._context.remaining(), refused=refused) if pace else refused
        except QueueTooLongError as error:
            raise ToolError(f"{site} has asked for no more requests in the next {error.wait:.3g} s") from error

    async def expect(self, urls: Sequence[str]) -> None:
        """Look up addresses among the kept pages, all at once, before `get` asks for one after the other."""
        async with self._caching:
            unknown = [url for url in urls if url not in self._found]
            if unknown and self._cache_size:
                found = await to_thread.run_sync(self._cache.find, unknown)
                self._found |= {url: found.get(url) for url in unknown}

    async def keep(self) -> None:
        answers, self._new, self._unkept = self._new, [], 0
        if answers and self._cache_size:
            async with self._caching:
                await to_thread.run_sync(self._cache.keep, answers)

    def close(self) -> None:
        self._cache.close()

    async def get(self, url: str) -> tuple[Answer, bool]:
        """Return a page and whether it was kept; raises ToolError for an answer that is an error."""
        # A page that only leads to another one (`<meta http-equiv="refresh">`) is followed there.
        answer, kept = await self._get_one(url)
        for _ in range(MAX_REDIRECTS):
            target = find_refresh(answer) if answer.media_type in _HTML else None
            if target is None:
                break
            answer, kept = await self._get_one(target)
        return answer, kept

    async def _get_one(self, url: str) -> tuple[Answer, bool]:
        self.check(url)
        if url not in self._found:
            await self.expect([url])
        kept, fresh = self._found.pop(url, None) or (None, False)
        if kept is not None and fresh:
            return kept, True
        headers = questions(kept.headers) if kept is not None else {}
        answer = await self.request("GET", url, headers=headers)
        if kept is not None and answer.status == HTTPStatus.NOT_MODIFIED:
            answer = Answer(kept.url, 200, kept.headers | dict(answer.headers), kept.body)
        if answer.status >= 400:
            asked = read_wait(answer.headers) if answer.status in _BUSY else None
            wait = f", and asks to wait {asked:,.0f} s, longer than this call may take" if asked else ""
            raise ToolError(f"{url[:200]} answers {answer.status} {phrase_of(answer.status)}{wait}")
        self._new.append((url, answer))
        self._unkept += len(answer.body)
        if self._unkept > 5_000_000:  # bytes of pages that are in memory until they are kept
            await self.keep()
        return answer, False

    async def read(self, answer: Answer, form: Format) -> Page:
        """Return what a page holds, in a format; raises ToolError where it is not text."""
        kind = answer.media_type
        if kind.startswith(_DOCUMENTS) or answer.body.startswith(b"%PDF-"):
            return await self._read_document(answer)
        if not kind.startswith("text/") and kind not in (*_HTML, *_TEXT) and not kind.endswith(("+json", "+xml")):
            what = f"{answer.url[:200]} is {kind or 'of an unknown type'}, which is not text"
            raise ToolError(f"{what}; web.request returns its bytes")
        html, charset = decode_page(answer.body, answer.charset)
        if kind not in _HTML:
            return {"title": "", "text": html, "links": [], "metadata": {}}
        options: dict[str, object] = {"html": html, "url": answer.url, "plain": form == "text"}
        page = await call_helper("web", "ot_packs.web.page", "read_page", options, Page)
        page["metadata"]["charset"] = charset
        return page | {"text": html} if form == "html" else page

    async def read_feed(self, url: str) -> tuple[str, Feed]:
        """Return a feed and its address, which may be that of a page that names it; raises ToolError."""
        for _ in range(2):
            answer, _ = await self.get(url)
            text = decode_page(answer.body, answer.charset)[0]
            feed = await call_helper("web", "ot_packs.web.feeds", "read_feed", {"text": text, "url": answer.url}, Feed)
            if not feed["elsewhere"]:
                return answer.url, feed
            url = feed["elsewhere"]
        raise ToolError(f"{url[:200]} is not a feed")

    async def _read_document(self, answer: Answer) -> Page:
        """Let the pack `convert` read a document, in a helper that may read this one file and nothing else."""
        file = self._context.state / f"document-{secrets.token_hex(8)}"
        try:
            await to_thread.run_sync(write_file, file, answer.body)
            place = str(file)
            document = await call_helper(
                "convert", "ot_packs.convert.markdown", "to_markdown", {"path": place}, Markdown, reads=place
            )
        finally:
            file.unlink(missing_ok=True)
        about = {"format": document["format"], document["unit"] + "s": str(document["total"])}
        return {"title": document["title"], "text": document["text"], "links": [], "metadata": about}


@asynccontextmanager
async def open_fetcher() -> AsyncIterator[Fetcher]:
    """Open the means of the current call; nothing is open when it ends."""
    context = current()
    allowed = read_allowed("web", context.config)
    async with GuardedClient(allowed) as client:
        with closing(Fetcher(context, client, allowed)) as fetcher:
            yield fetcher
            await fetcher.keep()


def cut(text: str, section: str | None, offset: int, limit: int) -> tuple[str, int, bool]:
    """Return a part of a text, the length of the whole, and whether more follows; raises ToolError."""
    wanted = find_section(text, section) if section else text
    part = wanted[offset : offset + limit]
    return part, len(wanted), offset + len(part) < len(wanted)
