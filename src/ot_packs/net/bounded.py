"""An answer that is read up to a size, and no further: what was announced, what arrives, what unpacks from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from ot.errors import ServiceUnavailableError, ToolError


class AnswerTooLargeError(ToolError):
    """An answer of more bytes than are wanted."""

    def __init__(self, url: str, limit: int) -> None:
        super().__init__(
            f"{url[:200]} returned more than {limit:,} bytes. Ask for a part of it, or have a person raise "
            "packs.web.max_size"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request, whole."""

    url: str  # after redirects
    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        """Such as `text/html`, in small letters; empty if the answer does not say."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """The charset that the headers claim."""
        for part in str(self.headers.get("content-type", "")).split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'") or None
        return None


async def ask(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    *,
    limit: int,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """Make one request and read its answer; raises ToolError, or ServiceUnavailableError where nobody answers."""
    try:
        async with client.stream(method, url, headers=dict(headers or {}), content=content) as response:
            body = await _read(response, limit)
            return Answer(str(response.url), response.status_code, response.headers, body)
    except httpx2.TooManyRedirects as error:
        raise ToolError(f"{url[:200]} has too many redirects: {error}") from error
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise ToolError(f"{url[:200]} leads to an invalid address: {error}") from error
    except httpx2.DecodingError as error:
        raise ToolError(f"{url[:200]} returned data that cannot be decompressed: {error}") from error
    except httpx2.HTTPError as error:
        raise ServiceUnavailableError("", f"{url[:200]}: {str(error) or type(error).__name__}") from error


async def _read(response: httpx2.Response, limit: int) -> bytes:
    announced = response.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise AnswerTooLargeError(str(response.url), limit)
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > limit:
            raise AnswerTooLargeError(str(response.url), limit)
    return bytes(body)
