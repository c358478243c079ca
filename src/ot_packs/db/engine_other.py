"""Other databases, through SQLAlchemy and a driver that the person has installed: every call a transaction of its own.

A driver in plain Python gets the one connection of this helper process. What a statement does in a database that we do
not know cannot be known either: the judgement of its tree is stricter, and a role that may only read matters more.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from uuid import UUID

import sqlalchemy
from sqlalchemy import exc
from sqlalchemy.pool import StaticPool

from ot.errors import ToolError
from ot.isolate.connection import take_connection
from ot.isolate.frames import CONNECTION_VARIABLE
from ot_packs.db.session import Column, Columns, ForeignKey, Limits, Row, ServerSession, StatementRows, Table, collect
from ot_packs.db.statements import Params, Statement

_EXPLAINING = ("postgres", "mysql", "duckdb", "redshift", "snowflake", "trino", "presto", "clickhouse")
_PLANS = {"sqlite": "EXPLAIN QUERY PLAN", **dict.fromkeys(_EXPLAINING, "EXPLAIN")}
_PLAIN = (type(None), bool, int, float, str, bytes, date, time, timedelta, Decimal, UUID, list, dict)


class LineSocket(socket.socket):
    """A socket that is always the one open connection, whatever address it is asked to connect to."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:  # noqa: A002 - its own name
        if fileno is None and family not in (-1, socket.AF_INET, socket.AF_INET6):
            raise OSError("this process has a connection to its database, and no other socket")
        super().__init__(fileno=take_connection().detach() if fileno is None else fileno)
        self.settimeout(None)

    def connect(self, address: object) -> None:
        """Do nothing: it is connected."""


def connect_other(url: str, password: str | None, dialect: str) -> OtherSession:
    """Log in; raises ToolError, or OSError where the server went away."""
    if CONNECTION_VARIABLE in os.environ:
        # Every name has an address, which is not used: nobody could be asked for another.
        found = socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, ""
        vars(socket).update(socket=LineSocket, getaddrinfo=lambda host, port, *_, **__: [(*found, (host, port))])
    try:
        address = sqlalchemy.make_url(url)
        if password is not None:
            address = address.set(password=password)
        engine = sqlalchemy.create_engine(address, poolclass=StaticPool)
    except exc.NoSuchModuleError:
        scheme = url.partition("://")[0]
        raise ToolError(f"SQLAlchemy knows no {scheme}; install what adds it beside OneTool") from None
    except ModuleNotFoundError as error:
        raise ToolError(f"there is no driver {error.name}; install it beside OneTool, or name another one") from None
    except exc.ArgumentError:
        form = "DIALECT+DRIVER://USER@HOST:PORT/DATABASE"
        raise ToolError(f"the address cannot be read by SQLAlchemy; write {form}") from None
    hidden = address.password
    with _worded(engine.dialect.name, hidden):
        return OtherSession(engine.connect(), dialect, hidden)


class OtherSession(ServerSession):
    def __init__(self, connection: sqlalchemy.Connection, dialect: str, hidden: str | None) -> None:
        self.dialect, self._connection, self._hidden = dialect, connection, hidden
        self._name = connection.dialect.name

    @property
    def usable(self) -> bool:
        return not (self._connection.closed or self._connection.invalidated)

    def prepare(self, token: str, seconds: float) -> None:
        """There is no mark that all databases know: what takes too long ends with this process and its connection."""

    def stop(self, token: str) -> None:
        """Do nothing, for the same reason."""

    def excess(self) -> list[str]:
        return []

    def read(self, statement: Statement, params: Params, limits: Limits) -> StatementRows:
        with self._transaction(readonly=True):
            return self._fetch(*_bound(statement, params), limits, stream=True)

    def write(self, statement: Statement, params: Params, limits: Limits) -> StatementRows:
        with self._transaction(readonly=False):
            return self._fetch(*_bound(statement, params), limits, stream=False)

    def explain(self, statement: Statement, params: Params) -> str:
        if self.dialect not in _PLANS:
            raise ToolError(f"how {self._name} explains its plans is not known here")
        text, values = _bound(statement, params)
        with self._transaction(readonly=True):
            found = self._connection.execute(sqlalchemy.text(f"{_PLANS[self.dialect]} {text}"), values)
            return "\n".join(" ".join(map(str, row)) for row in found)

    def tables(self) -> list[Table]:
        with self._transaction(readonly=True):
            inspector = sqlalchemy.inspect(self._connection)
            names = [(name, "table") for name in inspector.get_table_names()]
            names += [(name, "view") for name in inspector.get_view_names()]
        return [Table(name, kind=kind) for name, kind in sorted(names)]

    def describe(self, table: Table) -> Table:
        with self._transaction(readonly=True):
            inspector = sqlalchemy.inspect(self._connection)
            columns = inspector.get_columns(table.name)
            foreign, indexes = inspector.get_foreign_keys(table.name), inspector.get_indexes(table.name)
            return replace(
                table,
                columns=[Column(it["name"], str(it["type"]), it["nullable"], it.get("default")) for it in columns],
                primary_key=list(inspector.get_pk_constraint(table.name)["constrained_columns"]),
                foreign_keys=[
                    ForeignKey(list(it["constrained_columns"]), it["referred_table"], list(it["referred_columns"]))
                    for it in foreign
                ],
                indexes=[[column or "(expression)" for column in each["column_names"]] for each in indexes],
            )

    def quote(self, name: str) -> str:
        return str(self._connection.dialect.identifier_preparer.quote_identifier(name))

    def insert(self, target: str, columns: Columns, *, create: str) -> None:
        if create:
            raise ToolError(f"a table of {self._name} is not made here; make it with db.query(..., write=True) first")
        names = [f"ot_{number}" for number in range(len(columns))]
        quoted = _escaped(f"{target} ({', '.join(map(self.quote, columns))})")
        text = sqlalchemy.text(f"INSERT INTO {quoted} VALUES ({', '.join(f':{name}' for name in names)})")
        lines = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        with self._transaction(readonly=False):
            self._connection.execute(text, lines)

    def _fetch(self, text: str, values: dict[str, object], limits: Limits, *, stream: bool) -> StatementRows:
        options = {"stream_results": stream}  # by a cursor in the database, which is for statements that read
        result = self._connection.execute(sqlalchemy.text(text), values, execution_options=options)
        if not result.returns_rows:
            return StatementRows(changed=result.rowcount if result.rowcount >= 0 else None)
        with result:
            return collect(result.keys(), lambda count: [_plain(row) for row in result.fetchmany(count)], limits)

    @contextmanager
    def _transaction(self, *, readonly: bool) -> Iterator[None]:
        """Begin, and take back what only reads, whatever it did."""
        with _worded(self._name, self._hidden):
            if self._name == "postgresql":
                self._connection.execution_options(postgresql_readonly=readonly)
            with self._connection.begin() as transaction:
                yield
                if readonly:
                    transaction.rollback()


def _bound(statement: Statement, params: Params) -> tuple[str, dict[str, object]]:
    """Return the text as SQLAlchemy takes it: its own marks for parameters, and every other colon as it is."""
    values: dict[str, object] = {}

    def place(value: object, number: int) -> str:
        values[f"ot_{number}"] = value
        return f"\0{number}\0"  # which no statement holds

    text = _escaped(statement.render(params, place))
    for number in range(1, len(values) + 1):
        text = text.replace(f"\0{number}\0", f":ot_{number}")
    return text, values


def _escaped(text: str) -> str:
    return text.replace(":", "\\:")


def _plain(row: Sequence[object]) -> Row:
    """Return what crosses to the server as it is, and what is rare as text."""
    return [
        value if isinstance(value, _PLAIN) else bytes(value) if isinstance(value, memoryview) else str(value)
        for value in row
    ]


@contextmanager
def _worded(name: str, hidden: str | None) -> Iterator[None]:
    """Raise what the database says as ToolError; a lost connection stays one, so that another can be opened."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        cause, lost = (error.orig, error.connection_invalidated) if isinstance(error, exc.DBAPIError) else (None, False)
        text = f"{name}: {' '.join(str(cause or error).split())[:500]}"
        said = text.replace(hidden, "***") if hidden else text
        raise (ConnectionError(said) if lost else ToolError(said)) from None
