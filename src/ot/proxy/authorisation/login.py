"""The login at one server: a token storage, as the SDK calls it, on a person's credentials."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from mcp_core.json_types import JsonObject
from ot.config.server_settings import OAuthSettings
from ot.logs import write_log
from ot.store.credentials import Credentials, HeldLogin

Stored = TypeVar("Stored", bound=BaseModel)


class Login:
    """A login at one server, read by `open_login`; every value in it is a secret, and is reported to `learn`."""

    def __init__(
        self,
        credentials: Credentials,
        place: str,
        content: JsonObject,
        *,
        settings: OAuthSettings,
        learn: Callable[[str], None],
    ) -> None:
        self._credentials = credentials
        self._place = place
        self._content = content
        self._known = content.get("tokens")  # as they were last read or written
        self._held: HeldLogin | None = None
        self._settings = settings
        self._learn = learn
        port = content.get("port")  # that our registration names
        registered = port if isinstance(port, int) and 0 < port < 65536 else None
        self.port = settings.port or registered or _find_free_port()
        self.returns_to = ""  # the address to which a browser returns, which our registration names

    @property
    def expires_at(self) -> float | None:
        """The time at which the access token ends, in seconds since 1970; None if its server did not say."""
        found = self._content.get("expires_at")
        return float(found) if isinstance(found, int | float) else None

    @property
    def server(self) -> OAuthMetadata | None:
        """The authorization server that gave the tokens, as it described itself: it also says where to renew them."""
        return self._parse("server", OAuthMetadata)

    @property
    def resource(self) -> ProtectedResourceMetadata | None:
        """The description of what the tokens are for, which a renewal has to name."""
        return self._parse("resource", ProtectedResourceMetadata)

    def discovered(self, server: OAuthMetadata | None, resource: ProtectedResourceMetadata | None) -> None:
        """Keep what was found out about the tokens that come next; it is written with them."""
        for key, found in (("server", server), ("resource", resource)):
            self._content[key] = found.model_dump(mode="json", exclude_none=True) if found is not None else None

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Keep others from renewing these tokens meanwhile; raises OAuthFlowError if one never finishes."""
        try:
            async with self._credentials.alone(self._place) as self._held:
                yield
        except OSError as error:  # a time limit is one
            raise OAuthFlowError(f"its login cannot be renewed: {error.strerror or error}") from error
        finally:
            self._held = None

    async def read_again(self) -> bool:
        """Look again; True if the tokens are not those that were last read or written."""
        try:
            found = await (self._held.read() if self._held is not None else self._credentials.read(self._place))
        except OSError as error:
            write_log(logging.WARNING, "proxy.tokens", not_read=self._place, reason=str(error))
            return False
        if found is None or found.get("tokens") == self._known or found.get("owner") != self._content.get("owner"):
            return False
        self._content = found
        self._known = found.get("tokens")
        return True

    async def get_tokens(self) -> OAuthToken | None:
        found = self._parse("tokens", OAuthToken)
        if found is not None:
            self._hide(found.access_token, found.refresh_token)
        return found

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._hide(tokens.access_token, tokens.refresh_token)
        ends = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        self._content |= {"tokens": tokens.model_dump(mode="json", exclude_none=True), "expires_at": ends}
        await self._write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return who we are to its authorization server: as configured, else as registered last time."""
        if self._settings.client_id is None:
            registered_for = self._content.get("returns_to") or self.returns_to
            return self._parse("client", OAuthClientInformationFull) if registered_for == self.returns_to else None
        secret = self._settings.client_secret
        self._hide(secret)
        return OAuthClientInformationFull(
            client_id=self._settings.client_id,
            client_secret=secret,
            token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._hide(client_info.client_secret)
        registration: JsonObject = {"port": self.port, "returns_to": self.returns_to}
        self._content |= {"client": client_info.model_dump(mode="json", exclude_none=True), **registration}
        await self._write()

    def _parse(self, key: str, kind: type[Stored]) -> Stored | None:
        found = self._content.get(key)
        if found is None:
            return None
        try:
            return kind.model_validate(found)
        except ValidationError:
            write_log(logging.WARNING, "proxy.tokens", login=self._place, ignored=key)
            return None

    def _hide(self, *values: str | None) -> None:
        for value in values:
            if value:
                self._learn(value)

    async def _write(self) -> None:
        try:
            if self._held is not None:
                await self._held.write(self._content)
            else:
                await self._credentials.write(self._place, self._content)
        except OSError as error:
            write_log(logging.ERROR, "proxy.tokens", not_written=self._place, reason=str(error))
        else:
            self._known = self._content.get("tokens")


async def open_login(
    credentials: Credentials, place: str, *, settings: OAuthSettings, learn: Callable[[str], None]
) -> Login:
    """Read what is kept of a login; raises OSError where the store cannot be used."""
    content = await credentials.read(place) or {}
    owner = None if settings.grant == "login" else f"{settings.grant} {settings.client_id} {settings.issuer}"
    if content.get("owner") != owner:  # tokens that somebody else has got, or in another way
        content = {"owner": owner}
    return Login(credentials, place, content, settings=settings, learn=learn)


def _find_free_port() -> int:
    """Return a free port: our registration names it, and the listener takes it when somebody logs in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found
