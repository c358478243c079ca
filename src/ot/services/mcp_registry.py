"""The MCP registry, asked over its API of version 0.1; whatever it answers is bounded, and may be a lie."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import anyio
import anyio.to_thread
import httpx2
from pydantic import ValidationError

from mcp_core.json_types import Json, list_of, mapping_of
from ot.services.mcp_entries import Entry
from ot.services.trusted_roots import trusted_roots

_LONGEST = 20.0  # seconds for a whole answer
_LONGEST_DOWNLOAD = 600.0
_MOST_REDIRECTS = 5
_MOST_BYTES = 4_000_000
_META = "io.modelcontextprotocol.registry/official"
_SHOWN = 100  # servers that a search returns


class BringingError(Exception):
    """A server cannot be brought in; the text says why."""


@dataclass(frozen=True)
class Listed:
    """An entry as a registry lists it; `status` is its word for `active`, `deprecated` or `deleted`."""

    entry: Entry
    status: str


class McpRegistry:
    """One registry by its address; every method raises BringingError."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    async def latest(self, name: str) -> Listed:
        """Return the latest version of exactly this server."""
        found = _read(await self._get(f"servers/{quote(name, safe='')}/versions/latest"))
        if found.entry.name != name:
            raise BringingError(f"the registry was asked for {name}, and answered with another server")
        return found

    async def search(self, words: str) -> list[Listed]:
        """Return the servers whose names contain a text; what cannot be read of them is left out."""
        answer = mapping_of(await self._get("servers", search=words, version="latest", limit=str(_SHOWN)))
        found: dict[str, Listed] = {}
        for each in list_of(answer.get("servers"))[:_SHOWN]:
            try:
                listed = _read(each)
            except BringingError:
                continue
            if words.lower() in listed.entry.name.lower() and listed.status != "deleted":
                found.setdefault(listed.entry.name, listed)
        return list(found.values())

    async def download(self, url: str, file: Path, most: int) -> None:
        """Write what an address in an entry holds into a file, if it has at most so many bytes."""
        try:
            with anyio.fail_after(_LONGEST_DOWNLOAD):
                for _ in range(_MOST_REDIRECTS):
                    self._check(url)
                    async with _ask(url, "*/*") as response:
                        if response.next_request is None:
                            with file.open("wb") as target:
                                async for piece in _read_pieces(response, most):
                                    target.write(piece)
                            return
                        url = str(response.next_request.url)
                raise ValueError("it redirects too often")
        except TimeoutError:
            raise BringingError(f"its bundle was not there within {_LONGEST_DOWNLOAD:g} s") from None
        except (httpx2.HTTPError, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise BringingError(f"its bundle cannot be fetched from {urlsplit(url).netloc}: {reason}") from error

    def _check(self, url: str) -> None:
        """Refuse an address without TLS, unless the registry is on this machine, and names that."""
        parts, own = urlsplit(url), urlsplit(self._address)
        if "@" in parts.netloc or parts.scheme not in ("https", own.scheme if parts.hostname == own.hostname else ""):
            raise ValueError("its address is not https")

    async def _get(self, path: str, **query: str) -> Json:
        url = f"{self._address}/v0.1/{path}"
        try:
            with anyio.fail_after(_LONGEST):
                return await _fetch(url, query)
        except TimeoutError:
            raise BringingError(f"the registry did not answer within {_LONGEST:g} s") from None
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            raise BringingError(f"the registry at {urlsplit(url).netloc} cannot be used: {reason}") from error


async def _fetch(url: str, query: dict[str, str]) -> Json:
    async with _ask(url, "application/json", query) as response:
        if response.is_redirect:  # elsewhere than the person has configured
            raise ValueError("it redirects to another address, which is not followed")
        if response.status_code == httpx2.codes.NOT_FOUND:
            raise BringingError("the registry has no such server")
        content = b"".join([piece async for piece in _read_pieces(response, _MOST_BYTES)])
    found: Json = json.loads(content)
    return found


@asynccontextmanager
async def _ask(url: str, accept: str, query: dict[str, str] | None = None) -> AsyncIterator[httpx2.Response]:
    roots = await anyio.to_thread.run_sync(trusted_roots)
    headers = {"Accept": accept, "Accept-Encoding": "identity"}  # not compressed, as that can unpack to any size
    async with (
        httpx2.AsyncClient(verify=roots, timeout=_LONGEST, follow_redirects=False, headers=headers) as client,
        client.stream("GET", url, params=query) as response,
    ):
        yield response


async def _read_pieces(response: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    if response.status_code != httpx2.codes.OK:
        raise ValueError(f"it answered with status {response.status_code}")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ValueError("its answer is compressed")
    too_large = ValueError(f"its answer has more than {most:,} bytes")
    if int(response.headers.get("content-length", "0")) > most:
        raise too_large
    async for piece in response.aiter_raw():
        most -= len(piece)
        if most < 0:
            raise too_large
        yield piece


def _read(answer: Json) -> Listed:
    listed = mapping_of(answer)
    status = mapping_of(mapping_of(listed.get("_meta")).get(_META)).get("status")
    try:
        return Listed(Entry.model_validate(listed.get("server")), str(status or "active"))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "server"
        raise BringingError(f"the registry's entry is not valid: {place}: {first['msg']}") from None
