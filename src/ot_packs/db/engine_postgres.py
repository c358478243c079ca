"""PostgreSQL, over the one connection that this helper process was given: every call a transaction of its own."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import asyncpg

from ot.errors import ToolError
from ot_packs.db import session
from ot_packs.db.addresses import OFF, PREFER, ServerAddress, trusting
from ot_packs.db.known_names import FUNCTIONS
from ot_packs.db.reading import attribute_names
from ot_packs.db.statements import Engine, NotReadableError, Params, Statement

_LOST = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)
_USUAL = "public"
_CATALOGS = "('pg_catalog', 'information_schema')"
_INTEGERS = {"int2": "smallint", "int4": "integer", "int8": "bigint"}
_DURATION = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
)
_FIRST_DAY = date(2000, 1, 1).toordinal()
_ZERO = datetime(2000, 1, 1)  # noqa: DTZ001 - of both kinds
_UTC_ZERO = _ZERO.replace(tzinfo=UTC)
_ENDS = {"infinity": 2**63 - 1, "-infinity": -(2**63)}
_END_DAYS = {"infinity": 2**31 - 1, "-infinity": -(2**31)}
_UNENDING, _UNENDING_DAYS = ({number: name for name, number in ends.items()} for ends in (_ENDS, _END_DAYS))


def _loop_on(line: socket.socket) -> asyncio.AbstractEventLoop:
    """Make an event loop that connects nowhere: who asks first for a connection gets the one that is open already."""
    # The library asks again, to try without encryption, when a password was wrong: it then tells of that.
    plain = asyncio.SelectorEventLoop
    left = [line]

    def take() -> socket.socket:
        if not left:
            raise asyncpg.ConnectionDoesNotExistError("the first attempt failed, and there is no other connection")
        return left.pop()

    def connecting(connect: Callable[..., Any]) -> Callable[..., Any]:
        return lambda loop, factory, *_, **options: connect(loop, factory, sock=take(), **options)

    methods = (plain.create_connection, plain.create_unix_connection)
    changed = {method.__name__: connecting(method) for method in methods}
    loop: asyncio.AbstractEventLoop = type("LoopOnLine", (plain,), changed)()
    return loop


def connect_postgres(address: ServerAddress, line: socket.socket) -> PostgresSession:
    """Log in over an open connection; raises ToolError, or OSError where the server went away."""
    line.setblocking(False)
    loop = _loop_on(line)
    try:
        with trusting("PostgreSQL"):
            connection = loop.run_until_complete(_log_in(address))
    except asyncpg.PostgresError as error:
        raise ToolError(f"PostgreSQL refused the connection: {error}") from None
    except asyncpg.InterfaceError as error:
        raise ToolError(f"PostgreSQL could not be reached as configured: {error}") from None
    return PostgresSession(loop, connection)


async def _log_in(address: ServerAddress) -> asyncpg.Connection:
    mode = address.encryption.mode
    connection = await asyncpg.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password,
        database=address.database,
        ssl=False if mode == OFF else "prefer" if mode == PREFER else address.encryption.context(),
        timeout=10.0,
        server_settings={"standard_conforming_strings": "on", "client_encoding": "UTF8"},
    )
    # A server that supports it looks every half second whether its client is still there, and stops if not.
    await connection.execute(
        "SELECT set_config(name, '500', false) FROM pg_settings WHERE name = 'client_connection_check_interval'"
    )

    def encode(value: object) -> str:
        return value if isinstance(value, str) else session.write_json(value)

    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=encode, decoder=session.read_json)
    # Its own would store 0.1 as 0.1000000000000000055511151231257827.
    await connection.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=Decimal)
    # Its own say 9999-12-31 for infinity, and take a moment without a time zone for one of this machine's.
    for name, (encoder, decoder) in _MOMENTS.items():
        await connection.set_type_codec(name, schema="pg_catalog", format="tuple", encoder=encoder, decoder=decoder)
    return connection


class PostgresSession(session.ServerSession):
    dialect: str = Engine.POSTGRES

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: asyncpg.Connection) -> None:
        self._loop, self._connection = loop, connection

    @property
    def usable(self) -> bool:
        return not self._connection.is_closed()

    def prepare(self, token: str, seconds: float) -> None:
        self.fetch(
            "SELECT set_config('application_name', $1, false), set_config('statement_timeout', $2, false)",
            token,
            str(max(1, int(min(seconds, 2_000_000) * 1000))),
        )

    def read(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text, values = statement.bind(params, "$")
        self._refuse_attributes_that_call(statement)
        with self._transaction(readonly=True):
            return self._collect(text, values, limits)

    def write(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text, values = statement.bind(params, "$")
        with self._transaction(readonly=False):
            return self._collect(text, values, limits)

    def explain(self, statement: Statement, params: Params) -> str:
        text, values = statement.bind(params, "$")
        self._refuse_attributes_that_call(statement)
        with self._transaction(readonly=True):
            return "\n".join(str(line[0]) for line in self.fetch(f"EXPLAIN {text}", *values))

    def tables(self) -> list[session.Table]:
        found = self.fetch(
            "SELECT n.nspname, c.relname, c.relkind::text "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN {_CATALOGS} AND n.nspname !~ '^pg_t' "
            "AND has_schema_privilege(n.oid, 'USAGE') ORDER BY 1, 2"
        )
        return [
            session.Table(name, "" if schema == _USUAL else schema, "view" if kind in "vm" else "table")
            for schema, name, kind in found
        ]

    def describe(self, table: session.Table) -> session.Table:
        place = (table.schema or _USUAL, table.name)
        columns = self.fetch(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, "
            "pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
            "WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            *place,
        )
        keys = self.fetch(
            f"SELECT k.contype::text, {_names('k.conrelid', 'k.conkey')}, o.relname, m.nspname, "
            f"{_names('k.confrelid', 'k.confkey')} "
            "FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
            "LEFT JOIN pg_class o ON o.oid = k.confrelid LEFT JOIN pg_namespace m ON m.oid = o.relnamespace "
            "WHERE n.nspname = $1 AND c.relname = $2 AND k.contype IN ('p', 'f') ORDER BY k.conname",
            *place,
        )
        indexes = self.fetch(
            "SELECT array(SELECT pg_get_indexdef(i.indexrelid, s, true) FROM generate_series(1, i.indnkeyatts) s) "
            "FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = $1 AND c.relname = $2 ORDER BY i.indexrelid",
            *place,
        )
        return replace(
            table,
            columns=[session.Column(*column) for column in columns],
            primary_key=next((list(names) for kind, names, *_ in keys if kind == "p"), []),
            foreign_keys=[
                session.ForeignKey(list(names), other if schema == _USUAL else f"{schema}.{other}", list(references))
                for kind, names, other, schema, references in keys
                if kind == "f"
            ],
            indexes=[list(names) for (names,) in indexes],
        )

    def insert(self, target: str, columns: session.Columns, *, create: str) -> None:
        names = ", ".join(map(self.quote, columns))
        places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
        with self._transaction(readonly=False):
            if create:
                self._run(self._connection.execute(create))
            prepared = self._run(self._connection.prepare(f"INSERT INTO {target} ({names}) VALUES ({places})"))
            for kind, values in zip(prepared.get_parameters(), columns.values(), strict=True):
                _require_fitting(kind.name, values)
            self._run(prepared.executemany(zip(*columns.values(), strict=True)))

    def fetch(self, text: str, *values: object) -> list[Any]:
        """Fetch the rows of a statement of our own."""
        with _worded():
            return list(self._run(self._connection.fetch(text, *values)))

    def stop(self, token: str) -> None:
        self.fetch(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = $1 AND usename = current_user",
            token,
        )

    def excess(self) -> list[str]:
        found = self.fetch(
            "SELECT rolsuper, rolcreaterole, rolbypassrls, pg_has_role(current_user, 'pg_read_server_files', 'USAGE'), "
            "pg_has_role(current_user, 'pg_write_server_files', 'USAGE'), "
            "pg_has_role(current_user, 'pg_execute_server_program', 'USAGE') FROM pg_roles WHERE rolname = current_user"
        )
        words = ("is a superuser", "may create roles", "bypasses row security", "may read the server's files",
                 "may write the server's files", "may run programs on the server")  # fmt: skip
        return [word for word, held in zip(words, found[0], strict=True) if held][:3] if found else []

    def _refuse_attributes_that_call(self, statement: Statement) -> None:
        """Raise NotReadableError for a name after a dot that may call a function which is not listed."""
        names = sorted(set(attribute_names(statement)) - FUNCTIONS[Engine.POSTGRES])
        found = names and self.fetch(
            "SELECT proname FROM pg_proc WHERE proname = ANY($1) AND pronargs >= 1 AND pronargs - pronargdefaults <= 1 "
            "AND NOT (provolatile = 'i' AND pronamespace = 'pg_catalog'::regnamespace) LIMIT 1",
            names,
        )
        if found:
            raise NotReadableError(
                f"{found[0][0]} after a dot may call the function of that name, which is not admitted; "
                "write a column of that name without its table"
            )

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    @contextmanager
    def _transaction(self, *, readonly: bool) -> Iterator[None]:
        """Begin, and take back what only reads, whatever it did."""
        transaction = self._connection.transaction(readonly=readonly)
        with _worded():
            self._run(transaction.start())
            try:
                yield
            except BaseException:
                with contextlib.suppress(*_LOST):
                    self._run(transaction.rollback())
                raise
            self._run(transaction.rollback() if readonly else transaction.commit())

    def _collect(self, text: str, values: list[object], limits: session.Limits) -> session.StatementRows:
        prepared = self._run(self._connection.prepare(text))
        for kind, value in zip(prepared.get_parameters(), values, strict=True):
            _require_fitting(kind.name, (value,))
        columns = prepared.get_attributes()
        if not columns:
            self._run(prepared.fetch(*values))
            return session.StatementRows(changed=_count_in(prepared.get_statusmsg()))
        kinds = [column.type.name.lstrip("_").removesuffix("[]") for column in columns]
        odd = [place for place, kind in enumerate(kinds) if kind not in _PLAIN]
        cursor = self._run(prepared.cursor(*values))

        def fetch(count: int) -> Sequence[session.Row]:
            return session.converted([tuple(record) for record in self._run(cursor.fetch(count))], odd, _plain)

        if limits.offset:
            self._run(cursor.forward(limits.offset))
        rows = session.collect([column.name for column in columns], fetch, replace(limits, offset=0))
        return replace(rows, changed=_count_in(prepared.get_statusmsg()))


def _names(relation: str, numbers: str) -> str:
    return (
        f"array(SELECT a.attname::text FROM unnest({numbers}) WITH ORDINALITY u(n, i) "
        f"JOIN pg_attribute a ON a.attrelid = {relation} AND a.attnum = u.n ORDER BY u.i)"
    )


def _count_in(status: str | None) -> int | None:
    """Return the number of rows in `UPDATE 3`; a SELECT changes none."""
    word, _, rest = (status or "").partition(" ")
    last = rest.rpartition(" ")[2]
    return int(last) if last.isdecimal() and word in ("INSERT", "UPDATE", "DELETE", "MERGE") else None


# -- values

_PLAIN = frozenset({
    "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "name", "char",
    "uuid", "bytea", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "oid", "json", "jsonb",
})  # fmt: skip


def _plain(value: object) -> object:
    """Return composites as mappings, arrays as lists, ranges as their bounds, and what else is rare as text."""
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return value
        case asyncpg.Record():
            return {name: _plain(item) for name, item in value.items()}
        case asyncpg.Range():
            bounds = "empty" if value.isempty else f"{'[' if value.lower_inc else '('}{']' if value.upper_inc else ')'}"
            return {"lower": _plain(value.lower), "upper": _plain(value.upper), "bounds": bounds}
        case asyncpg.BitString():
            return value.as_string().replace(" ", "")
        case list() | tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)
        case _ if type(value).__module__ in ("datetime", "decimal", "uuid", "asyncpg.pgproto.pgproto"):
            return value
        case _:
            return str(value)


def _require_fitting(kind: str, values: Sequence[object]) -> None:
    """Raise ToolError for parameters that the library would cut without a word."""
    if kind in _INTEGERS and not {float, Decimal}.isdisjoint(map(type, values)):
        for value in values:
            if isinstance(value, float | Decimal) and value != value // 1:
                raise ToolError(f"{_INTEGERS[kind]} would round {value}; round it, or choose another type")
    elif kind == "time":
        for value in values:
            if isinstance(value, datetime | time):
                session.require_zone(value, wanted=False)


def _from_interval(parts: tuple[int, int, int]) -> timedelta | str:
    """Return a duration; months have no fixed length, so an interval with some stays text, as ISO 8601 writes it."""
    months, days, microseconds = parts
    if not months:
        return timedelta(days=days, microseconds=microseconds)
    sign = "-" if months < 0 else ""
    years, months = divmod(abs(months), 12)
    named = ((years, "Y", sign), (months, "M", sign), (days, "D", ""))
    text = "P" + "".join(f"{before}{n}{unit}" for n, unit, before in named if n)
    seconds, part = divmod(abs(microseconds), 1_000_000)
    fraction = f".{part:06}".rstrip("0") if part else ""
    return f"{text}T{'-' if microseconds < 0 else ''}{seconds}{fraction}S" if microseconds else text


def _to_interval(value: object) -> tuple[int, int, int]:
    if isinstance(value, timedelta):
        return 0, value.days, value.seconds * 1_000_000 + value.microseconds
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None or value in ("P", "PT"):
        raise ToolError(f"an interval is given as a timedelta, or as text such as P1Y2M3DT4.5S, not as {value!r}")
    years, months, weeks, days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    micro = (hours * 3600 + minutes * 60 + seconds) * 1_000_000
    return int(years * 12 + months), int(weeks * 7 + days), int(micro)


def _to_date(value: object) -> tuple[int]:
    if value in _END_DAYS:
        return (_END_DAYS[str(value)],)
    day = date.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(day, datetime) and (day.time() != time() or day.tzinfo):
        raise ToolError(f"a date has no time, and {value} has one; pass value.date()")
    if not isinstance(day, date):
        raise ToolError(f"a date is given as a date, or as text such as 2026-01-31, not as {value!r}")
    return (day.toordinal() - _FIRST_DAY,)


def _from_moment(zero: datetime) -> Callable[[tuple[int]], datetime | str]:
    return lambda parts: _UNENDING.get(parts[0]) or zero + timedelta(microseconds=parts[0])


def _to_moment(zero: datetime) -> Callable[[object], tuple[int]]:
    def encode(value: object) -> tuple[int]:
        if value in _ENDS:
            return (_ENDS[str(value)],)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime.combine(moment, time(), zero.tzinfo)
        if not isinstance(moment, datetime):
            raise ToolError(f"a moment is given as a datetime, or as text such as 2026-01-31 12:00, not as {value!r}")
        session.require_zone(moment, wanted=zero.tzinfo is not None)
        return ((moment - zero) // timedelta(microseconds=1),)

    return encode


_MOMENTS: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "interval": (_to_interval, _from_interval),
    "date": (_to_date, lambda parts: _UNENDING_DAYS.get(parts[0]) or date.fromordinal(_FIRST_DAY + parts[0])),
    "timestamp": (_to_moment(_ZERO), _from_moment(_ZERO)),
    "timestamptz": (_to_moment(_UTC_ZERO), _from_moment(_UTC_ZERO)),
}


@contextmanager
def _worded() -> Iterator[None]:
    """Raise what the database says as ToolError; a lost connection stays one, so that another can be opened."""
    try:
        yield
    except asyncpg.QueryCanceledError:
        raise ToolError("PostgreSQL: the statement was cancelled, or took longer than the call may") from None
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise ToolError(f"PostgreSQL: {error}; write=True asks the person") from None
    except asyncpg.PostgresConnectionError as error:
        raise ConnectionError(f"PostgreSQL: {error}") from None
    except asyncpg.PostgresError as error:
        detail = f"; {error.hint}" if getattr(error, "hint", None) else ""
        raise ToolError(f"PostgreSQL: {error}{detail}") from None
    except asyncpg.InterfaceError as error:
        if isinstance(error, asyncpg.InternalClientError):
            raise ConnectionError(f"PostgreSQL: {error}") from None
        raise ToolError(f"PostgreSQL: {error}") from None
    except (OverflowError, ValueError, TypeError) as error:
        raise ToolError(f"PostgreSQL: {error}; cast such a column to text") from None
