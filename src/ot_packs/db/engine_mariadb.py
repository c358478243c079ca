"""MariaDB and MySQL, over the one connection that this helper process was given: every call a transaction."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time
from typing import Any
from uuid import UUID

import pymysql
from pymysql.constants import CR, FIELD_TYPE, FLAG
from pymysql.cursors import SSCursor

from ot.errors import ToolError
from ot_packs.db import session
from ot_packs.db.addresses import OFF, ServerAddress, trusting
from ot_packs.db.statements import Engine, Params, Statement

_LOST = frozenset({CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR})
_ROWS_AT_ONCE = 500
_SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys')"
# How texts and names are quoted must not depend on the server: it decides what a statement means. Nor must it depend
# on the server whether what does not fit a column is shortened silently.
_SET_UP = (
    "SET SESSION sql_mode = REPLACE(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'ANSI_QUOTES', '')",
    "SET SESSION sql_mode = CONCAT(REPLACE(REPLACE(@@sql_mode, 'ORACLE', ''), 'MSSQL', ''), ',STRICT_ALL_TABLES')",
)


def connect_mariadb(address: ServerAddress, line: socket.socket) -> MariadbSession:
    """Log in over an open connection; raises ToolError, or OSError where the server went away."""
    line.settimeout(10)  # seconds to log in
    connection = pymysql.connect(
        host=address.host,
        user=address.user,
        password=address.password or "",
        database=address.database,
        charset="utf8mb4",
        cursorclass=SSCursor,
        autocommit=True,
        local_infile=False,
        defer_connect=True,
        ssl=None if address.encryption.mode == OFF else address.encryption.context(),
    )
    with _worded():
        _log_in(connection, line)
        return MariadbSession(connection, line)


def _log_in(connection: pymysql.Connection[SSCursor], line: socket.socket) -> None:
    try:
        connection.connect(line)
    except pymysql.OperationalError as error:
        cause = getattr(error, "original_exception", None)
        with trusting("MariaDB"):
            raise cause if isinstance(cause, ssl.SSLError) else error from None
    except RuntimeError as error:  # MySQL's caching_sha2_password, which takes RSA where nothing is encrypted
        raise ToolError(f"MySQL: {error}; or encrypt the connection: ?ssl-mode=verify_identity, or required") from None


class MariadbSession(session.ServerSession):
    dialect: str = Engine.MARIADB
    usable = True

    def __init__(self, connection: pymysql.Connection[SSCursor], line: socket.socket) -> None:
        self._connection, self._line = connection, line
        self._mark = ""
        for text in _SET_UP:
            self.execute(text)
        self._is_mariadb = "MariaDB" in str(self.fetch("SELECT VERSION()")[0][0])

    def prepare(self, token: str, seconds: float) -> None:
        self._mark = f"/* {token} */ "
        with _worded():
            if self._is_mariadb:
                self.execute(f"SET SESSION max_statement_time = {max(0.001, min(seconds, 31536000)):.3f}")
            else:
                self.execute(f"SET SESSION max_execution_time = {max(1, int(min(seconds, 4_000_000) * 1000))}")

    def read(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text = self._bound(statement, params)
        with _worded():
            self.execute(f"SET SESSION sql_select_limit = {limits.offset + limits.rows + 1}")
            self.execute("START TRANSACTION READ ONLY")
            try:
                return self._collect(text, limits)
            finally:
                self._roll_back()

    def write(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text = self._bound(statement, params)
        with _worded():
            self.execute("SET SESSION sql_select_limit = DEFAULT")
            self.execute("START TRANSACTION")
            try:
                rows = self._collect(text, limits)
                if self.usable:
                    self.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        return rows

    def explain(self, statement: Statement, params: Params) -> str:
        with _worded():
            return "\n".join(str(row[0]) for row in self.fetch(f"EXPLAIN FORMAT=JSON {self._bound(statement, params)}"))

    def tables(self) -> list[session.Table]:
        found = self.fetch(
            "SELECT table_schema, table_name, table_type, table_schema = DATABASE() FROM information_schema.tables "
            f"WHERE table_schema = COALESCE(DATABASE(), table_schema) AND table_schema NOT IN {_SYSTEM} ORDER BY 1, 2"
        )
        return [
            session.Table(name, "" if own else schema, "view" if "VIEW" in kind else "table")
            for schema, name, kind, own in found
        ]

    def describe(self, table: session.Table) -> session.Table:
        schema = self._connection.escape(table.schema) if table.schema else "DATABASE()"
        place = f"table_schema = {schema} AND table_name = {self._connection.escape(table.name)}"
        columns = self.fetch(
            "SELECT column_name, column_type, is_nullable = 'YES', column_default FROM information_schema.columns "
            f"WHERE {place} ORDER BY ordinal_position"
        )
        keys = self.fetch(
            "SELECT constraint_name, column_name, referenced_table_name, referenced_column_name "
            f"FROM information_schema.key_column_usage WHERE {place} ORDER BY constraint_name, ordinal_position"
        )
        indexes = self.fetch(
            f"SELECT index_name, column_name FROM information_schema.statistics WHERE {place} "
            "ORDER BY index_name, seq_in_index"
        )
        return replace(
            table,
            columns=[session.Column(name, kind, bool(nullable), default) for name, kind, nullable, default in columns],
            primary_key=[column for name, column, *_ in keys if name == "PRIMARY"],
            foreign_keys=session.group_keys(key for key in keys if key[2] is not None),
            indexes=session.group_columns(indexes),
        )

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def insert(self, target: str, columns: session.Columns, *, create: str) -> None:
        names = ", ".join(map(self.quote, columns))
        rows = list(zip(*columns.values(), strict=True))
        with _worded():
            if create:
                self.execute(create)  # which commits by itself
            self.execute("START TRANSACTION")
            try:
                for start in range(0, len(rows), _ROWS_AT_ONCE):
                    chunk = rows[start : start + _ROWS_AT_ONCE]
                    lines = ", ".join(f"({', '.join(map(self._literal, row))})" for row in chunk)
                    self.execute(f"INSERT INTO {target} ({names}) VALUES {lines}")
                self.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if create and not self._remove_new(target):
                    raise ToolError(f"MariaDB: {error}; the new table {target} is left, without these rows") from error
                raise

    def _remove_new(self, target: str) -> bool:
        """Take back a table that was made for rows which did not go in: no transaction does that here."""
        try:
            if self.usable and not self.fetch(f"SELECT 1 FROM {target} LIMIT 1"):
                self.execute(f"DROP TABLE {target}")
                return True
        except (pymysql.Error, ToolError, OSError):
            pass  # somebody else uses it, or the connection is gone
        return False

    def stop(self, token: str) -> None:
        mark = self._connection.escape(f"/* {token} */%")
        with _worded():
            for (number,) in self.fetch(
                f"SELECT id FROM information_schema.processlist WHERE info LIKE {mark} AND id != CONNECTION_ID()"
            ):
                self.execute(f"KILL QUERY {int(number)}")

    def excess(self) -> list[str]:
        held = {str(row[0]) for row in self.fetch(
            "SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = CONCAT('\\'', "
            "REPLACE(CURRENT_USER(), '@', '\\'@\\''), '\\'')"
        )}  # fmt: skip
        words = {"SUPER": "is a superuser", "FILE": "may read and write the server's files",
                 "CREATE USER": "may create users", "DROP": "may drop tables everywhere"}  # fmt: skip
        return [word for name, word in words.items() if name in held]

    def execute(self, text: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(text)

    def fetch(self, text: str) -> list[tuple[Any, ...]]:
        """Fetch the rows of a statement of our own."""
        with _worded(), self._connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def _collect(self, text: str, limits: session.Limits) -> session.StatementRows:
        cursor = self._connection.cursor()
        changed = cursor.execute(self._mark + text)
        if cursor.description is None:
            cursor.close()
            return session.StatementRows(changed=changed)
        rows = session.collect([column[0] for column in cursor.description], cursor.fetchmany, limits)
        fields = vars(cursor)["_result"].fields  # the description names no tables
        documents = [place for place, field in enumerate(fields) if field.type_code == FIELD_TYPE.JSON]
        if rows.more and cursor.fetchone() is not None:  # closing the cursor would read all of the rest
            self.usable = False
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)
        else:
            cursor.close()
            documents += self._documents(fields)
        return replace(rows, rows=list(session.converted(rows.rows, documents, session.read_json)))

    def _documents(self, fields: Any) -> list[int]:
        """Return which columns of a result are JSON to MariaDB: texts of any length, which it checks to be that."""
        long = [
            (place, field)
            for place, field in enumerate(fields)
            if field.type_code == FIELD_TYPE.BLOB and field.flags & FLAG.BINARY and field.org_table
        ]
        if not long or not self._is_mariadb:
            return []
        names = ", ".join({str(self._connection.escape(field.org_table)) for _, field in long})
        checked = set(self.fetch(
            "SELECT constraint_schema, table_name, constraint_name FROM information_schema.check_constraints "
            f"WHERE table_name IN ({names}) AND check_clause LIKE 'json_valid(%'"
        ))  # fmt: skip
        return [place for place, field in long if (field.db.decode(), field.org_table, field.org_name) in checked]

    def _roll_back(self) -> None:
        if self.usable:
            try:
                self._connection.rollback()
            except (pymysql.Error, OSError):
                self.usable = False

    def _bound(self, statement: Statement, params: Params) -> str:
        return statement.render(params, lambda value, _: self._literal(value))

    def _literal(self, value: object) -> str:
        match value:
            case list() | tuple() | dict():
                value = session.write_json(value)
            case datetime() | time() if value.tzinfo is not None:
                raise ToolError(
                    f"MariaDB keeps no time zone, and {value.isoformat()} has one; choose one for the column, as in "
                    "value.astimezone(datetime.timezone.utc).replace(tzinfo=None)"
                )
            case UUID():
                value = str(value)
            case set() | frozenset():  # which the driver would write as several values
                raise ToolError(f"a value of type {type(value).__name__} cannot be stored")
        return str(self._connection.escape(value))


@contextmanager
def _worded() -> Iterator[None]:
    """Raise what the database says as ToolError; a lost connection stays one, so that another can be opened."""
    try:
        yield
    except pymysql.MySQLError as error:
        code, text = (*error.args, "")[:2]
        if code in _LOST:
            raise ConnectionError(f"MariaDB: {text}") from None
        if code == 1792:
            raise ToolError(f"MariaDB: {text} write=True asks the person") from None
        if code in (1969, 3024, 1317):
            raise ToolError("MariaDB: the statement was cancelled, or took longer than the call may") from None
        raise ToolError(f"MariaDB: {text or error}") from None
