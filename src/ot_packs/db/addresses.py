"""Where databases are, and how connections are encrypted, as the person configures it. No driver is needed here."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from ot.errors import ToolError

_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_SOCKETS = {"postgres": "/var/run/postgresql", "mysql": "/run/mysqld/mysqld.sock"}
_ADDRESS = re.compile(r"(?P<scheme>[a-z0-9]+)(\+(?P<driver>\w+))?://(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_OTHER_PORTS = {
    "postgresql": 5432, "mysql": 3306, "mariadb": 3306, "mssql": 1433, "oracle": 1521, "cockroachdb": 26257,
    "redshift": 5439, "firebird": 3050, "clickhouse": 8123, "trino": 8080, "vertica": 5433,
}  # fmt: skip
_DIALECTS = {
    "postgresql": "postgres", "cockroachdb": "postgres", "mysql": "mysql", "mariadb": "mysql", "mssql": "tsql",
    "awsathena": "athena", "gsheets": "sqlite",
}  # fmt: skip
_SAME_DIALECT = frozenset({
    "athena", "bigquery", "clickhouse", "databricks", "doris", "dremio", "drill", "druid", "duckdb", "exasol",
    "hive", "oracle", "presto", "redshift", "snowflake", "spark", "sqlite", "starrocks", "teradata", "trino",
})  # fmt: skip
_KEYS = frozenset({"address", "password", "confined"})
_FORM = "postgresql://USER:${PASSWORD}@HOST:PORT/DATABASE"
OFF, PREFER, REQUIRE, VERIFY_CA, VERIFY_FULL = "off", "prefer", "require", "verify-ca", "verify-full"
_MODES = {
    "postgres": {"disable": OFF, "allow": PREFER, PREFER: PREFER, REQUIRE: REQUIRE, VERIFY_CA: VERIFY_CA,
                 VERIFY_FULL: VERIFY_FULL},
    "mysql": {"disabled": OFF, "preferred": OFF, "required": REQUIRE, "verify_ca": VERIFY_CA,
              "verify_identity": VERIFY_FULL},
}  # fmt: skip
_NAMES = {
    "postgres": ("sslmode", "sslrootcert", "sslcert", "sslkey"),
    "mysql": ("ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"),
}


@dataclass(frozen=True, slots=True)
class Encryption:
    """The encryption of a connection, and the checks of the server's certificate."""

    mode: str = OFF
    authority: str | None = None  # the file of who may have signed it; None for those whom the system trusts
    certificate: str | None = None  # our own, with its key
    key: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file for file in (self.authority, self.certificate, self.key) if file)

    def context(self) -> ssl.SSLContext:
        """Return it as Python takes it; raises ToolError for a file that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.authority)
            context.check_hostname = self.mode == VERIFY_FULL
            if self.mode not in (VERIFY_CA, VERIFY_FULL):
                context.verify_mode = ssl.CERT_NONE
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise ToolError(f"{', '.join(self.files)} cannot be used for encryption: {error.strerror}") from None
        return context


def read_encryption(key: str, engine: str, options: Mapping[str, str]) -> Encryption:
    """Read the options of an address; an authority is named to be checked. Raises ToolError, which names the key."""
    modes = _MODES[engine]
    plain = {name.replace("_", "-"): value for name, value in options.items()}
    mode, authority, certificate, private = (plain.get(name) for name in _NAMES[engine])
    if mode is None:
        found = VERIFY_FULL if authority else {"postgres": PREFER, "mysql": OFF}[engine]
    elif mode.lower() in modes:
        found = modes[mode.lower()]
    else:
        raise ToolError(f"{key}: {_NAMES[engine][0]} cannot be {mode!r}; it is one of {', '.join(modes)}")
    return Encryption(found, *(file and str(Path(file).expanduser()) for file in (authority, certificate, private)))


@contextmanager
def trusting(engine: str) -> Iterator[None]:
    """Raise ToolError where the certificate of a server is not trusted: it is not a matter of the network."""
    try:
        yield
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or error
        raise ToolError(
            f"{engine}: certificate verify failed: {reason}"
            if isinstance(error, ssl.SSLCertVerificationError)
            else f"{engine}: the connection cannot be encrypted: {reason}"
        ) from None


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A database server: where it is, who we are there, and which of its databases is meant."""

    engine: str
    host: str  # a name or an address; a path for a socket of this machine
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    encryption: Encryption = field(default_factory=Encryption)

    @property
    def socket(self) -> str:
        """The path of the socket; PostgreSQL is configured by its folder."""
        if self.engine != "postgres" or Path(self.host).is_socket():
            return self.host
        return f"{self.host}/.s.PGSQL.{self.port}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def server_from(values: Mapping[str, Any]) -> ServerAddress:
    return ServerAddress(**{**values, "encryption": Encryption(**values["encryption"])})


@dataclass(frozen=True, slots=True)
class FileAddress:
    path: str


@dataclass(frozen=True, slots=True)
class OtherAddress:
    """A database that none of our engines knows, which SQLAlchemy speaks to with a driver that the person installs."""

    scheme: str  # the dialect as SQLAlchemy names it
    url: str = field(repr=False)
    password: str | None = field(default=None, repr=False)
    place: tuple[str, int] | None = None  # None where its driver connects by itself, in a process that is not confined

    def to_json(self) -> dict[str, str | None]:
        return {"url": self.url, "password": self.password}


Address = ServerAddress | FileAddress | OtherAddress


def find_connection(options: Mapping[str, object], name: str) -> Address:
    """Return what `packs.db.connections.NAME` says; raises ToolError, which names the key and no password."""
    connections = options.get("connections") or {}
    if not isinstance(connections, Mapping):
        raise ToolError(f"packs.db.connections is not a mapping of names to addresses; write NAME: {_FORM}")
    if name not in connections:
        known = ", ".join(sorted(map(str, connections))) or "there are none"
        raise ToolError(
            f"no connection is named {name!r} ({known}); connections are configured by the person under "
            "packs.db.connections, and a file is given as `path`"
        )
    return read_connection(name, connections[name])


def configured_files(options: Mapping[str, object]) -> Iterator[Path]:
    """Yield the database files among `packs.db.connections`."""
    connections = options.get("connections")
    for name, entry in connections.items() if isinstance(connections, Mapping) else ():
        with suppress(ToolError):
            address = read_connection(str(name), entry)
            if isinstance(address, FileAddress):
                yield Path(address.path)


def read_connection(name: str, entry: object) -> Address:
    """Read one entry: an address, or a mapping of `address` and `password`; raises ToolError."""
    key = f"packs.db.connections.{name}"
    address, password, confined = _parts(key, entry)
    found = _ADDRESS.fullmatch(address)
    if found is None:
        if "://" in address:
            raise ToolError(f"{key} does not begin like an address; write {_FORM}")
        return FileAddress(str(Path(address).expanduser()))
    scheme, driver = found["scheme"].lower(), (found["driver"] or "").lower()
    if scheme in {"sqlite", "duckdb"} and not driver:
        path = Path(unquote(found["rest"].removeprefix("/"))).expanduser()
        if not path.is_absolute():
            raise ToolError(f"{key}: the path is not absolute; write four slashes, sqlite:////home/ada/shop.db")
        return FileAddress(str(path))
    if scheme not in _SCHEMES or driver not in {"", "asyncpg", "pymysql"}:
        place = _place_of(key, scheme, found["rest"]) if confined else None
        return OtherAddress(scheme, address, password, place)
    if not confined:
        raise ToolError(f"{key}.confined is for databases that SQLAlchemy speaks to, as with {scheme}+DRIVER://")
    return _server(key, _SCHEMES[scheme], found["rest"], password)


def _parts(key: str, entry: object) -> tuple[str, str | None, bool]:
    password: object = None
    confined: object = True
    if isinstance(entry, Mapping):
        unknown = sorted(map(str, set(entry) - _KEYS))
        if unknown:
            raise ToolError(f"{key}.{unknown[0]} is unknown; the keys are `address`, `password` and `confined`")
        password, confined = entry.get("password"), entry.get("confined", True)
        entry = entry.get("address")
    if not isinstance(entry, str) or not entry:
        raise ToolError(f"{key} is not an address; write {_FORM}, or the path of a file")
    if password is not None and not isinstance(password, str):
        raise ToolError(f"{key}.password is not text; put it in quotes")
    if not isinstance(confined, bool):
        raise ToolError(f"{key}.confined is neither true nor false")
    return entry, password, confined


def _place_of(key: str, scheme: str, rest: str) -> tuple[str, int]:
    host, port = _host_and_port(key, rest.rpartition("@")[2].partition("?")[0].partition("/")[0])
    port = port or _OTHER_PORTS.get(scheme)
    if not host or port is None:
        raise ToolError(
            f"{key}: the driver of {scheme} is given one connection, so the address names a host and a port; or add "
            "`confined: false`, and it connects by itself, with your rights"
        )
    return host, port


def _server(key: str, engine: str, rest: str, password: str | None) -> ServerAddress:
    """Read user, password, host, port, database and options. A password may hold anything but is best given apart."""
    account, at, place = rest.rpartition("@")
    place, _, query = place.partition("?")
    hostport, _, database = place.partition("/")
    user, colon, written = account.partition(":")
    options = dict(parse_qsl(query))
    host, port = _host_and_port(key, hostport)
    socket = options.pop("host", None) or options.pop("unix_socket", None)
    written_port = options.pop("port", "")
    port = port or (int(written_port) if written_port.isdecimal() else None)
    if password is None and at and colon:
        password = unquote(written)
    place = unquote(socket or host) or _SOCKETS[engine]
    return ServerAddress(
        engine,
        place,
        port or {"postgres": 5432, "mysql": 3306}[engine],
        unquote(user) or None,
        password,
        unquote(database) or None,
        Encryption() if place.startswith("/") else read_encryption(key, engine, options),
    )


def _host_and_port(key: str, text: str) -> tuple[str, int | None]:
    bracketed = re.fullmatch(r"\[(?P<host>[0-9a-fA-F:.%]+)\](:(?P<port>\d+))?", text)
    found = bracketed or re.fullmatch(r"(?P<host>[^:/\[\]]*)(:(?P<port>\d+))?", text)
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        raise ToolError(f"{key}: host and port cannot be read; write {_FORM}")
    return found["host"], int(found["port"]) if found["port"] else None


def dialect_of(scheme: str) -> str:
    """Return what the parser calls a dialect of SQLAlchemy; one that it does not know is read as plain SQL."""
    return _DIALECTS.get(scheme, scheme if scheme in _SAME_DIALECT else "")
