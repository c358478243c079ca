"""A database as a call names it, and the helper process that speaks to it.

Drivers live in helper processes. One for a file is confined to that file. One for a server has no network at all: it is
given a single open connection to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from ot.context import current
from ot.errors import CallError, ToolError
from ot.files.allowed_files import AllowedFiles, allowed_files
from ot.isolate.connection import ConnectionLostError, ConnectionTarget
from ot.isolate.host import IsolateHost
from ot.registry.definitions import Libraries, Touches
from ot_packs.db.addresses import FileAddress, OtherAddress, ServerAddress, dialect_of, find_connection
from ot_packs.db.session import AS_GUESSED, CsvReading
from ot_packs.db.written_file import READ_BY_DUCKDB, WrittenFile
from ot_packs.helper_results import Result, as_declared

PACK = "db"
HELPER = "ot_packs.db.helper"
MOST_ROWS = 1_000_000
_BESIDE = ("-wal", "-shm", "-journal", ".wal")  # files that SQLite and DuckDB keep beside a database
_NEW = {".duckdb": "duckdb", ".ddb": "duckdb", ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_SUPPORTED = "SQLite and DuckDB databases, and CSV, TSV, Parquet and JSON files"

Paths = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Database:
    name: str  # for people
    engine: str
    files: tuple[str, ...] = ()
    outside: bool = False  # files that the person has configured, wherever they lie
    write: bool = False
    server: ServerAddress | None = None
    other: OtherAddress | None = None
    reading: CsvReading = field(default_factory=lambda: AS_GUESSED)

    async def call(self, function: str, result: type[Result], **arguments: object) -> Result:
        """Call a function of the helper; cancelled, what the server does for it is cancelled too."""
        token = f"onetool-{secrets.token_hex(8)}"
        try:
            return as_declared(await self._run(function, token, arguments), result)
        except ConnectionLostError:
            if self.write:
                raise
            return as_declared(await self._run(function, token, arguments), result)
        except anyio.get_cancelled_exc_class():
            await self._stop(token)
            raise

    async def _run(self, function: str, token: str, arguments: Mapping[str, object]) -> object:
        target = self.describe(token, min(current().remaining(), 1e6))
        if not (self.write and self.files):
            return await self._call(function, {"target": target, **arguments}, self._touches())
        blank = b""
        if self.engine == "duckdb" and not await anyio.Path(self.files[0]).exists():
            blank = as_declared(await self._call("blank", {}, Touches(reads=READ_BY_DUCKDB)), bytes)
        opener = os.open if self.outside else allowed_files().open
        file = WrittenFile(self.files[0], self.engine, opener, blank=blank)
        try:
            touches = await to_thread.run_sync(file.prepare)
            return await self._call(function, {"target": target, **arguments}, touches)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(file.settle)

    def describe(self, token: str, seconds: float) -> dict[str, object]:
        """Return the target of a call, as the helper takes it."""
        return {
            "engine": self.engine,
            "write": self.write,
            "reading": self.reading,
            "token": token,
            "seconds": seconds,
            "server": self.server.to_json() if self.server is not None else None,
            "other": self.other.to_json() if self.other is not None else None,
        }

    async def _call(self, function: str, arguments: Mapping[str, object], touches: Touches | None) -> object:
        context = current()
        return await context.part(IsolateHost).run(
            HELPER,
            function,
            {"files": list(self.files), **arguments},
            touches=touches,
            libraries=context.registry.pack(PACK).libraries,
            connection=self._target(),
            in_context=False,
        )

    async def _stop(self, token: str) -> None:
        if self.server is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(5.0):
                try:
                    await self._run("stop", f"{token}-stop", {"token": token})
                except CallError:
                    pass  # the server is told by the end of the connection

    def _touches(self) -> Touches | None:
        if self.other is not None:
            return Touches() if self.other.place is not None else None
        if self.server is not None:
            return Touches(reads=self.server.encryption.files)
        also = READ_BY_DUCKDB if self.engine == "duckdb" else ()
        return Touches(reads=(*also, *(self.files if self.outside else ("{files}",))))

    def _target(self) -> ConnectionTarget | None:
        if self.other is not None and self.other.place is not None:
            return ConnectionTarget(self.other.place, _account(self.other.to_json()))
        return _target_of(self.server) if self.server is not None else None


def _target_of(server: ServerAddress) -> ConnectionTarget:
    place = server.socket if server.host.startswith("/") else (server.host, server.port)
    return ConnectionTarget(place, _account(server.to_json()))


def _account(address: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(address, sort_keys=True).encode()).hexdigest()


async def excess_rights(host: IsolateHost, server: ServerAddress, libraries: Libraries | None) -> list[str]:
    """Return the rights of a connection's role that reading does not need; outside of any call."""
    target = Database("", server.engine, server=server).describe("onetool-check", 10.0)
    held = await host.run(
        HELPER,
        "rights",
        {"target": target, "files": []},
        touches=Touches(reads=server.encryption.files),
        libraries=libraries,
        connection=_target_of(server),
    )
    return as_declared(held, list[str])


async def find_database(connection: str | None, path: Paths | None, *, write: bool = False) -> Database:
    """Find what a call names; raises ToolError, or PathError for a file that tools may not reach."""
    if (connection is None) == (path is None):
        raise ToolError("give either `connection`, a name from packs.db.connections, or `path`, a file")
    if path is not None:
        if current().config.get("files") is False:  # of one of many people who share the server
            raise ToolError("You don't have access to database files. Use `connection`, or ask an administrator")
        return await to_thread.run_sync(_database_of_files, allowed_files(), path, write)
    assert connection is not None
    match find_connection(current().config, connection):
        case ServerAddress() as server:
            return Database(connection, server.engine, server=server, write=write)
        case FileAddress() as file:
            return await to_thread.run_sync(_configured_file, connection, file.path, write)
        case OtherAddress() as other:
            return Database(connection, dialect_of(other.scheme), other=other, write=write)


def most_bytes() -> int:
    """Return `packs.db.max_bytes`; raises ToolError if it is not a number of bytes."""
    value = current().config.get("max_bytes", 64 * 1024 * 1024)
    if not isinstance(value, int) or isinstance(value, bool) or not 1024 <= value <= 200 * 1024 * 1024:
        raise ToolError("packs.db.max_bytes is not a number of bytes from 1024 to 209715200")
    return value


def _database_of_files(allowed: AllowedFiles, path: Paths, write: bool) -> Database:  # noqa: FBT001 - for a thread
    paths = [path] if isinstance(path, str) else list(path)
    if not paths:
        raise ToolError("`path` names no file")
    real = [str(allowed.locate(each, write=write)) for each in paths]
    kinds = []
    for each in real:
        header = b""
        if Path(each).exists():
            with os.fdopen(allowed.open(each), "rb") as stream:
                header = stream.read(32)
        kinds.append(_kind_of(each, header, write=write))
    return _files_database(", ".join(map(str, paths)), real, kinds, write=write, outside=False)


def _configured_file(name: str, file: str, write: bool) -> Database:  # noqa: FBT001 - for a thread
    real = Path(file).resolve()
    try:
        with real.open("rb") as stream:
            header = stream.read(32)
    except FileNotFoundError:
        header = b""
    except OSError as error:
        raise ToolError(f"packs.db.connections.{name}: {error.strerror}") from error
    return _files_database(name, [str(real)], [_kind_of(str(real), header, write=write)], write=write, outside=True)


def _files_database(name: str, real: list[str], kinds: list[str], *, write: bool, outside: bool) -> Database:
    if set(kinds) == {"data"}:
        if write:
            raise ToolError(f"{name} is read as a table and cannot be changed; write it with the file pack")
        return Database(name, "duckdb", tuple(real), outside)
    if len(real) > 1:
        raise ToolError("several files are tables together only if all are CSV, TSV, Parquet or JSON")
    beside = [f"{real[0]}{end}" for end in _BESIDE if Path(f"{real[0]}{end}").is_file()]
    return Database(name, kinds[0], (real[0], *beside), outside, write)


def _kind_of(path: str, header: bytes, *, write: bool) -> str:
    """Tell what is in a file by its first bytes, and by its name where those cannot tell."""
    plain = Path(path).name.lower().removesuffix(".gz").removesuffix(".zst")
    ending = Path(plain).suffix
    if header.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if header[8:12] == b"DUCK":
        return "duckdb"
    if ending in (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson") and header:
        return "data"
    if not header and ending in _NEW and (write or Path(path).exists()):
        return _NEW[ending]
    raise ToolError(f"{path} is not a database; these are supported: {_SUPPORTED}")
