"""The handles by which the view of an answer asks for more: good for that answer, its client, and some time.

A handle says what it is good for, with a code over that and over its client which only the store's key can make. So it
cannot be guessed or changed, every replica reads it, and nothing has to be remembered.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable

import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Caller

_PURPOSE = b"onetool view"
_CODE = 40  # characters
_LONGEST = 4_000  # characters of a handle


class UnknownHandleError(Exception):
    """No handle, one of another client, or one that is no longer good."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The uses of a handle: the run of an answer, what was stored of it, and perhaps one server's view."""

    run: str
    stored: str = ""  # the handle of a stored result
    preview: bool = False
    server: str = ""
    view: str = ""  # the address of its page


class ViewHandles:
    """Makes handles, and reads them."""

    def __init__(self, load_key: Callable[[], bytes], kept: float, clock: Callable[[], float] = time.time) -> None:
        self._load_key = load_key
        self._kept = kept  # seconds for which one is good
        self._clock = clock
        self._process = secrets.token_hex(8)  # clients with a connection end with their process

    async def make(self, grant: Grant, caller: Caller) -> str:
        """Return the handle of a grant for this client; raises OSError."""
        fields = [grant.run, grant.stored, grant.preview, grant.server, grant.view]
        until = round(self._clock() + self._kept)
        said = base64.urlsafe_b64encode(json.dumps([until, *fields]).encode()).decode().rstrip("=")
        return f"{said}.{await self._code(said, caller)}"

    async def read(self, handle: str, caller: Caller) -> Grant:
        """Return what a handle is good for; raises UnknownHandleError, and OSError."""
        said, _, code = handle.partition(".")
        if len(handle) > _LONGEST or not handle.isascii():
            raise UnknownHandleError
        if not hmac.compare_digest(await self._code(said, caller), code):
            raise UnknownHandleError
        try:
            found = json.loads(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))
        except (binascii.Error, ValueError):
            raise UnknownHandleError from None
        match found:
            case [int(until), str(run), str(stored), bool(preview), str(server), str(view)] if until > self._clock():
                return Grant(run, stored, preview, server, view)
        raise UnknownHandleError

    async def _code(self, said: str, caller: Caller) -> str:
        key = await anyio.to_thread.run_sync(self._load_key)
        number = caller.memory.connection
        client: JsonObject = {"of": caller.principal, "client": caller.client}
        if number:
            client["connection"] = f"{self._process}.{number}"
        signed = b"\0".join([_PURPOSE, json.dumps(client).encode(), said.encode()])
        return hmac.new(key, signed, hashlib.sha256).hexdigest()[:_CODE]
