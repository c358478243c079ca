"""The file with the tokens of one server, which only its owner may read, shared by all of their processes."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TypeVar

import anyio
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import try_lock
from mcp_core.json_types import JsonObject
from ot.config.models import OAuthSettings
from ot.logs import write_log
from ot.store.forms import FORM, UnknownFormError, check_form

_FORM = 1
_PATIENCE = 60.0  # seconds to wait for another process that renews the tokens
_TURN = 0.05  # seconds

Stored = TypeVar("Stored", bound=BaseModel)


class TokenFile:
    """A token storage, as the SDK calls it; every value in it is a secret, and `learn` is told of it."""

    def __init__(self, file: Path, settings: OAuthSettings, learn: Callable[[str], None]) -> None:
        self._file = file
        self._settings = settings
        self._learn = learn
        self._content = self._read() or {}
        self._on_disk = self._content.get("tokens")
        self.port = settings.port or self._known_port() or _find_free_port()

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
        """Keep other processes from renewing these tokens meanwhile; raises OAuthFlowError if one never finishes."""
        with self._open_lock() as held:
            with anyio.move_on_after(_PATIENCE) as scope:
                while not try_lock(held.fileno()):  # noqa: ASYNC110 - another process holds it
                    await anyio.sleep(_TURN)
            if scope.cancelled_caught:
                raise OAuthFlowError("another OneTool is renewing this login and does not finish")
            yield

    def read_again(self) -> bool:
        """Look at the file again; True if its tokens are not those that were last read from it or written to it."""
        found = self._read()
        if found is None or found.get("tokens") == self._on_disk:
            return False
        self._content = found
        self._on_disk = found.get("tokens")
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
        self._write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return who we are to its authorization server: as configured, else as registered last time."""
        if self._settings.client_id is None:
            return self._parse("client", OAuthClientInformationFull)
        secret = self._settings.client_secret
        self._hide(secret)
        return OAuthClientInformationFull(
            client_id=self._settings.client_id,
            client_secret=secret,
            token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._hide(client_info.client_secret)
        self._content |= {"client": client_info.model_dump(mode="json", exclude_none=True), "port": self.port}
        self._write()

    def _known_port(self) -> int | None:
        """The port that our registration names."""
        found = self._content.get("port")
        return found if isinstance(found, int) and 0 < found < 65536 else None

    def _parse(self, key: str, kind: type[Stored]) -> Stored | None:
        found = self._content.get(key)
        if found is None:
            return None
        try:
            return kind.model_validate(found)
        except ValidationError:
            write_log(logging.WARNING, "proxy.tokens", file=self._file, ignored=key)
            return None

    def _hide(self, *values: str | None) -> None:
        for value in values:
            if value:
                self._learn(value)

    def _open_lock(self) -> IO[bytes]:
        """Open the file to lock, beside that of the tokens; if none can be written, tokens cannot be shared either."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return self._file.with_suffix(".lock").open("ab")
        except OSError as error:
            write_log(logging.WARNING, "proxy.tokens", not_locked=self._file, reason=str(error))
            return TemporaryFile()

    def _read(self) -> JsonObject | None:
        """Return what the file holds, nothing if there is none; None if it cannot be read."""
        try:
            return dict(check_form(json.loads(self._file.read_bytes()), _FORM, unnamed=1))
        except FileNotFoundError:
            return {}
        except UnknownFormError as error:
            write_log(logging.WARNING, "proxy.tokens", file=self._file, reason=str(error))
            return None
        except (OSError, ValueError) as error:
            write_log(logging.WARNING, "proxy.tokens", file=self._file, reason=type(error).__name__)
            return None

    def _write(self) -> None:
        try:
            write_private(self._file, json.dumps({**self._content, FORM: _FORM}))
        except OSError as error:
            write_log(logging.ERROR, "proxy.tokens", not_written=self._file, reason=str(error))
        else:
            self._on_disk = self._content.get("tokens")


def _find_free_port() -> int:
    """Return a free port: our registration names it, and the listener takes it when somebody logs in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found
