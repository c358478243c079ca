"""OAuth for servers that ask for it: the SDK's own flow, with our credentials and our page for the browser."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientMetadata

from ot.proxy.authorisation.landing import Landing
from ot.proxy.authorisation.login import Login
from ot.proxy.plan import ConnectionPlan
from ot.services.trusted_roots import trusted_roots
from ot_confinement.hosts import Address, is_public

_REFUSALS = (401, 403)
_LOOKUP = 5.0  # seconds
_RENEWAL = 20.0  # seconds; others who need the token wait meanwhile, and so does whoever closes the connection
_LONGEST = 300  # characters of what went wrong
_LARGEST = 1024 * 1024  # bytes of what an issuer answers


class Authorisation(OAuthClientProvider):
    """The SDK's provider, which also remembers when a token ends and where to renew it, and never queues requests.

    The SDK holds a lock until a request is answered, so that one slow call would hold up all others. Here a request
    goes out at once with the token that there is; only one that is refused goes the SDK's way.

    Other processes may use the same login. A refresh token is good for one use, and offering it a second time can
    revoke them all; so before a token is renewed, under a lock that all of them take, the login is read again.
    """

    def __init__(
        self, url: str, metadata: OAuthClientMetadata, *, login: Login, landing: Landing, plan: ConnectionPlan
    ) -> None:
        async def send(address: str) -> None:
            await _check_way(address, url)
            await landing.open(address)
            try:
                await plan.authorise(address)
            except BaseException:
                landing.close()
                raise

        document = plan.settings.oauth.client_metadata_url or (plan.logins.client_document if plan.logins else None)
        super().__init__(
            url, metadata, login, redirect_handler=send, callback_handler=landing.wait, client_metadata_url=document
        )
        logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # its tracebacks quote what was answered
        self._login = login
        self._trusted = ""  # an issuer that the configuration names, wherever it is

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = self._login.expires_at
        self.context.oauth_metadata = self.context.oauth_metadata or self._login.server
        self.context.protected_resource_metadata = self.context.protected_resource_metadata or self._login.resource

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._login.discovered(self.context.oauth_metadata, self.context.protected_resource_metadata)
        await super()._handle_token_response(response)

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        await self._begin()
        refusal: httpx2.Response | None = None
        sent_with = self.context.current_tokens
        for _ in range(2):
            if self._has_ended():
                await self._renew()
            sent_with = self.context.current_tokens
            if sent_with is None or self.context.is_token_valid():
                self._add_auth_header(request)
                refusal = yield request
                if refusal.status_code not in _REFUSALS:
                    return
            if not await self._adopt() and not self._has_ended():
                break
        flow = super()._auth_flow(request)
        try:
            with _quoting_nothing():
                outgoing = await flow.__anext__()
                if refusal is not None and outgoing is request and self.context.current_tokens is sent_with:
                    outgoing = await flow.asend(refusal)  # it would only be refused again
                while True:
                    if outgoing is request:
                        outgoing = await flow.asend((yield outgoing))
                    else:
                        await self._prepare(outgoing)
                        outgoing = await flow.asend(bounded((yield outgoing)))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _begin(self) -> None:
        if not self._initialized:
            async with self.context.lock:
                if not self._initialized:
                    await self._initialize()

    async def _renew(self) -> None:
        """Renew a token that has ended, unless somebody else has; whoever wanted it may go meanwhile."""
        # Once it was offered, the refresh token is spent: what comes for it has to be kept. So it is sent on its own,
        # and not with the requests of a connection that may be closed.
        async with self.context.lock, self._login.alone():
            await self._adopt()
            if not self._has_ended():
                return
            roots = await anyio.to_thread.run_sync(trusted_roots)
            request = await self._refresh_token()
            await self._prepare(request)
            with anyio.fail_after(_RENEWAL, shield=True):
                async with httpx2.AsyncClient(timeout=_RENEWAL, verify=roots) as client:
                    await self._handle_refresh_response(bounded(await client.send(request, stream=True)))

    async def _prepare(self, request: httpx2.Request) -> None:
        """Get a request to an issuer ready, if it leads where it may; raises OAuthFlowError."""
        address = str(request.url)
        if not self._trusted or origin_of(address) != origin_of(self._trusted):
            await _check_way(address, self.context.server_url)
        request.headers["Accept-Encoding"] = "identity"

    def _has_ended(self) -> bool:
        """True if there is a token that is no longer good, and that can be renewed."""
        return not self.context.is_token_valid() and self.context.can_refresh_token()

    async def _adopt(self) -> bool:
        """Take over tokens that another process has got since; True if there are any."""
        if not await self._login.read_again():
            return False
        await self._initialize()
        return True


async def _check_way(address: str, server: str) -> None:
    """Let a server lead us, and a browser, only to public places, if it is in one itself; raises OAuthFlowError."""
    # It chooses the addresses of its login. What answers without TLS, or in a private network, is often meant for that
    # network only, such as the place where a cloud keeps the credentials of its machines.
    way, own = urlsplit(address), urlsplit(server)
    if way.scheme != "https" and not (way.scheme == "http" and own.scheme == "http"):
        raise OAuthFlowError("its login leads to an address that does not begin with https://")
    if way.hostname == own.hostname:
        return
    inside = [found for found in await _resolve(way.hostname) if not is_public(found)]
    if not inside:
        return
    around = [found for found in await _resolve(own.hostname) if not is_public(found)]
    if not around or any(found.is_link_local for found in inside) != any(found.is_link_local for found in around):
        raise OAuthFlowError(f"its login leads to {way.hostname}, a private address ({inside[0]})")


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address; equal ones are one place."""
    split = urlsplit(address)
    return split.scheme, split.hostname, split.port or {"https": 443, "http": 80}.get(split.scheme)


@contextmanager
def _quoting_nothing() -> Iterator[None]:
    """Leave only the first line of what went wrong: the others quote what was answered, tokens too."""
    try:
        yield
    except OAuthFlowError as error:
        raise OAuthFlowError(str(error).partition("\n")[0][:_LONGEST]) from None


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > _LARGEST:
                raise OAuthFlowError(f"its login answered with more than {_LARGEST:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def bounded(response: httpx2.Response) -> httpx2.Response:
    """Have no more read of what an issuer answers than an answer can have; raises OAuthFlowError, now or then."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":  # which can unpack to any size
        raise OAuthFlowError("its login answered with a compressed text, which was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream) and not response.is_stream_consumed:
        response.stream = _BoundedStream(response.stream)
    return response


async def _resolve(host: str | None) -> list[Address]:
    """Return the addresses of a host; none for a name that only a proxy knows."""
    try:
        with anyio.fail_after(_LOOKUP):
            found = await anyio.getaddrinfo(host, None)
    except (OSError, UnicodeError, TimeoutError):
        return []
    return [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
