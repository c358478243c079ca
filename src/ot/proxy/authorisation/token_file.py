"""Where the tokens of one server are kept: a file that only its owner may read."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import BaseModel, ValidationError

from mcp_core.atomic_write import write_private
from ot.config.models import OAuthSettings
from ot.logs import write_log

Stored = TypeVar("Stored", bound=BaseModel)


class TokenFile:
    """What the SDK calls a token storage; every value in it is a secret, and is told to `learn`."""

    def __init__(self, file: Path, settings: OAuthSettings, learn: Callable[[str], None]) -> None:
        self._file = file
        self._settings = settings
        self._learn = learn
        self._content = self._read()
        self.port = settings.port or self._known_port() or _find_free_port()

    @property
    def expires_at(self) -> float | None:
        """When the access token ends, in seconds since 1970; None where its server did not say."""
        found = self._content.get("expires_at")
        return float(found) if isinstance(found, int | float) else None

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
        """Who we are to its authorization server: as configured, else as registered the last time."""
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

    def forget(self) -> None:
        """Remove everything, so that the next connection begins anew."""
        self._content = {}
        self._file.unlink(missing_ok=True)

    def _known_port(self) -> int | None:
        """The port that our registration names."""
        found = self._content.get("port")
        return found if isinstance(found, int) and 0 < found < 65536 else None

    def _parse(self, key: str, kind: type[Stored]) -> Stored | None:
        try:
            return kind.model_validate(self._content[key])
        except KeyError:
            return None
        except ValidationError:
            write_log(logging.WARNING, "proxy.tokens", file=self._file, ignored=key)
            return None

    def _hide(self, *values: str | None) -> None:
        for value in values:
            if value:
                self._learn(value)

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            write_log(logging.WARNING, "proxy.tokens", file=self._file, reason=type(error).__name__)
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self) -> None:
        try:
            write_private(self._file, json.dumps(self._content))
        except OSError as error:
            write_log(logging.ERROR, "proxy.tokens", not_written=self._file, reason=str(error))


def _find_free_port() -> int:
    """A port that nobody uses now: our registration names it, and the listener takes it when somebody logs in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found
