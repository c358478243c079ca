"""The logins of one person at the servers that ask for one, by the place of the server.

A refresh token can be used once; using it a second time may revoke all tokens of the login. So a process that renews
a login locks out all others meanwhile, and finds the login as the last one left it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, Protocol

import anyio

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import try_lock
from mcp_core.json_types import JsonObject
from mcp_core.private_files import make_private, open_lock
from ot.logs import write_log
from ot.store.forms import FORM, UnknownFormError, check_form, keep_newer_file
from ot.store.sealing import LOGIN, PATIENCE, Sealer, SealError, digest_of_person, place_of

_FORM = 1


class HeldLogin(NamedTuple):
    """A login that nobody else can renew meanwhile; what is written is kept for certain once the login is let go."""

    read: Callable[[], Awaitable[JsonObject | None]]
    write: Callable[[JsonObject], Awaitable[None]]


class Credentials(Protocol):
    """The logins of one person. Where the store cannot be used, OSError is raised."""

    async def read(self, place: str) -> JsonObject | None:
        """Return what is kept, empty where nothing is; None if it cannot be used."""

    async def write(self, place: str, content: JsonObject) -> None: ...

    async def forget(self, place: str) -> None: ...

    def alone(self, place: str) -> AbstractAsyncContextManager[HeldLogin]:
        """Keep all others from renewing a login meanwhile; raises TimeoutError if another one never finishes."""


class LoginSeal:
    """Logins as text, and back; sealed for the person whose they are, where a sealer is given."""

    def __init__(self, principal: str = "", sealer: Callable[[], Sealer] | None = None) -> None:
        self._person = digest_of_person(principal)
        self._sealer = sealer

    def text(self, place: str, content: JsonObject) -> str:
        text = json.dumps({**content, FORM: _FORM})
        return text if self._sealer is None else self._sealer().seal(text.encode(), place=self._bound(place))

    def read(self, place: str, text: str | None) -> JsonObject | None:
        """Return what text says, empty where there is none; None, and a line in the log, if it makes no sense."""
        if not text:
            return {}
        try:
            plain = text if self._sealer is None else self._sealer().open(text, place=self._bound(place)).decode()
            return dict(check_form(json.loads(plain), _FORM, unnamed=1))
        except (UnknownFormError, SealError) as error:
            write_log(logging.WARNING, "proxy.tokens", login=place, reason=str(error))
        except ValueError as error:
            write_log(logging.WARNING, "proxy.tokens", login=place, reason=type(error).__name__)
        return None

    def _bound(self, place: str) -> str:
        return place_of(LOGIN, self._person, place)


class FileCredentials:
    """A file of mode 0600 for each server, shared by all processes of a person."""

    def __init__(self, folder: Path, seal: LoginSeal | None = None) -> None:
        self._folder = folder
        self._seal = seal or LoginSeal()

    async def read(self, place: str) -> JsonObject | None:
        file = self._file(place)
        try:
            return self._seal.read(place, file.read_text(errors="replace"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            write_log(logging.WARNING, "proxy.tokens", file=file, reason=str(error))
            return None

    async def write(self, place: str, content: JsonObject) -> None:
        keep_newer_file(self._file(place), _FORM)
        write_private(self._file(place), self._seal.text(place, content))

    async def forget(self, place: str) -> None:
        self._file(place).unlink(missing_ok=True)

    @asynccontextmanager
    async def alone(self, place: str) -> AsyncIterator[HeldLogin]:
        with self._open_lock(place) as held:
            with anyio.move_on_after(PATIENCE) as scope:
                while not try_lock(held.fileno()):  # noqa: ASYNC110 - another process holds it
                    await anyio.sleep(0.05)
            if scope.cancelled_caught:
                raise TimeoutError("another OneTool is renewing this login and does not finish")
            yield HeldLogin(partial(self.read, place), partial(self.write, place))

    def _open_lock(self, place: str) -> IO[bytes]:
        """Open the file to lock, beside that of the tokens; if none can be written, tokens cannot be shared either."""
        file = self._file(place)
        try:
            make_private(self._folder)
            return open_lock(file.with_suffix(".lock"))
        except OSError as error:
            write_log(logging.WARNING, "proxy.tokens", not_locked=file, reason=str(error))
            from tempfile import TemporaryFile  # noqa: PLC0415 - only for this rare case

            return TemporaryFile()

    def _file(self, place: str) -> Path:
        return self._folder / f"{place}.json"
