"""DuckDB: a database file, or CSV, Parquet and JSON files as tables; no other file, and no extension."""

from __future__ import annotations

import codecs
import gzip
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
from duckdb.sqltypes import DuckDBPyType

from ot.errors import ToolError
from ot_packs.db import session
from ot_packs.db.statements import Engine, NotReadableError, Params, Statement

MEMORY = ":memory:"
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # a name in a statement is never a variable of ours
    "memory_limit": "600MB",
    "threads": 2,
}
_CSV = "read_csv"
_READERS = {
    ".csv": _CSV, ".tsv": _CSV, ".parquet": "read_parquet", ".json": "read_json", ".jsonl": "read_json",
    ".ndjson": "read_json",
}  # fmt: skip
_ROWS_AT_ONCE = 200
_PLAIN = frozenset({bool, str, bytes, date, timedelta, UUID})
_ENDS = frozenset({date.min, date.max, datetime.min, datetime.max})  # noqa: DTZ901 - as the library says infinity
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"})
_WHOLE = {
    **dict.fromkeys(_MOMENTS, "isfinite({0})"),
    "TIMESTAMP_NS": "isfinite({0}) AND {0} = {0}::TIMESTAMP::TIMESTAMP_NS",
    "TIME_NS": "{0} = {0}::TIME::TIME_NS",
    "INTERVAL": "datepart('year', {0}) = 0 AND datepart('month', {0}) = 0 AND abs(datepart('day', {0})) < 500000000",
}
"""When a value of a kind has an equal in Python."""
Read = Callable[[Any], object]


@contextmanager
def open_duckdb(
    file: str, data: Sequence[str] = (), reading: session.CsvReading = session.AS_GUESSED, *, write: bool = False
) -> Iterator[DuckdbSession]:
    """Open a database file; or with `file` MEMORY the files `data`, each as a table by its name."""
    if any(reading.values()) and not any(_READERS[ending_of(path)] == _CSV for path in data):
        raise ToolError("`encoding` and `types` are for CSV and TSV files")
    try:
        # A file that is written is in the folder of this process if it is there, with its log beside it.
        mounted = Path(os.environ["TMPDIR"], Path(file).name) if write else None
        place = mounted if mounted and mounted.exists() else file
        connection = duckdb.connect(place, read_only=file != MEMORY and not write, config=_SETTINGS)
    except duckdb.Error as error:
        raise ToolError(_worded(error)) from None
    try:
        sources = [_in_utf8(path, reading["encoding"], number) for number, path in enumerate(data)]
        connection.execute(f"SET temp_directory = {_text(os.environ.get('TMPDIR', ''))}")
        connection.execute(f"SET allowed_paths = [{', '.join(map(_text, sources))}]")
        opened = DuckdbSession(connection)
        missing = set(reading["types"] or ())
        for name, path, source in zip(table_names(data), data, sources, strict=True):
            table = f"{_READERS[ending_of(path)]}({_text(source)}"
            if _READERS[ending_of(path)] == _CSV and reading["types"]:
                described = connection.execute(f"DESCRIBE SELECT * FROM {table}, all_varchar = true)").fetchall()
                types = {row[0]: reading["types"][row[0]] for row in described if row[0] in reading["types"]}
                missing -= set(types)
                pairs = ", ".join(f"{_text(column)}: {_text(kind)}" for column, kind in types.items())
                table += f", types = {{{pairs}}}" if types else ""
            connection.execute(f"CREATE VIEW {opened.quote(name)} AS SELECT * FROM {table})")
        if missing:
            raise ToolError(f"`types` names columns that no file has: {', '.join(sorted(missing))}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield opened
    except duckdb.Error as error:
        about_data = data and isinstance(error, duckdb.InvalidInputException | duckdb.ConversionException)
        hint = "; if the file is not UTF-8 text, pass encoding=..." if about_data else ""
        raise ToolError(f"{_worded(error)}{hint}") from None
    finally:
        connection.close()


def _in_utf8(path: str, encoding: str | None, number: int) -> str:
    """Return the place of a CSV file in UTF-8: a copy in the folder of this process, if it has another encoding."""
    if encoding is None or _READERS[ending_of(path)] != _CSV:
        return path
    try:
        codecs.lookup(encoding)
        copy = Path(os.environ["TMPDIR"], f"{number}{ending_of(path)}")
        read = gzip.open if path.lower().endswith(".gz") else open
        with read(path, "rb") as source, copy.open("w", encoding="utf-8", newline="") as target:
            for piece in codecs.iterdecode(iter(lambda: source.read(1 << 20), b""), encoding):
                target.write(piece)
    except LookupError:
        usual = "usual ones are utf-8, cp1252, latin-1 and utf-16"
        raise ToolError(f"there is no encoding {encoding!r}; {usual}") from None
    except UnicodeError as error:
        raise ToolError(f"{Path(path).name} is not {encoding}: {error}") from None
    return str(copy)


def blank_database() -> bytes:
    """Return the file of a database without tables, which DuckDB does not make of an empty one."""
    file = Path(os.environ["TMPDIR"], "blank.duckdb")
    duckdb.connect(file, config=_SETTINGS).close()
    try:
        return file.read_bytes()
    finally:
        file.unlink()


def ending_of(path: str) -> str:
    """Return what tells the format of a data file: `.csv` for `sales.csv.gz`; nothing if it is none."""
    ending = Path(Path(path).name.lower().removesuffix(".gz").removesuffix(".zst")).suffix
    return ending if ending in _READERS else ""


def table_names(paths: Sequence[str]) -> list[str]:
    """Name a table after each file: `sales` for `2024/sales.csv.gz`."""
    names = []
    for path in paths:
        name = re.sub(r"\W", "_", Path(path).name.split(".")[0] or "data")
        names.append(f"_{name}" if name[0].isdecimal() else name)
    return session.unique(names)


class DuckdbSession(session.Session):
    dialect: str = Engine.DUCKDB

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def read(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text, values = statement.bind(params, "$")
        kinds = [found.type for found in duckdb.extract_statements(text)]
        # A PIVOT without IN asks for its columns first; its tree was found to only read.
        pivots = any(word.text.upper() in ("PIVOT", "PIVOT_WIDER") for word in statement.words)
        if kinds not in ([duckdb.StatementType.SELECT], [duckdb.StatementType.MULTI] if pivots else []):
            raise NotReadableError(f"DuckDB takes this for {', '.join(kind.name for kind in kinds)}, not for a SELECT")
        cursor = self._connection.execute(text, values)
        types = [column[1] for column in cursor.description or ()]
        if _ALWAYS_ODD.isdisjoint(map(str, types)):
            rows = _collected(cursor, limits)
            moments = [place for place, kind in enumerate(types) if str(kind) in _MOMENTS]
            if _ENDS.isdisjoint(row[place] for place in moments for row in rows.rows):
                return rows
        names = [column[0] for column in cursor.description or ()]
        rows = _collected(self._connection.execute(_kept(text, types), values), limits)
        return replace(rows, columns=session.unique(names))

    def write(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        text, values = statement.bind(params, "$")
        self._connection.begin()
        rows = _collected(self._connection.execute(text, values), limits)
        self._commit()
        if rows.columns == ["Count"]:  # which a CREATE has too, without a row
            return session.StatementRows(changed=sum(int(str(row[0])) for row in rows.rows))
        return rows

    def explain(self, statement: Statement, params: Params) -> str:
        text, values = statement.bind(params, "$")
        return "\n".join(str(row[1]) for row in self._connection.execute(f"EXPLAIN {text}", values).fetchall())

    def tables(self) -> list[session.Table]:
        found = self._connection.execute(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY 1, 2"
        ).fetchall()
        return [
            session.Table(name, schema="" if schema == "main" else schema, kind="view" if kind == "VIEW" else "table")
            for schema, name, kind in found
        ]

    def describe(self, table: session.Table) -> session.Table:
        place = [table.schema or "main", table.name]
        columns = self._connection.execute(
            "SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns() "
            "WHERE schema_name = ? AND table_name = ? ORDER BY column_index",
            place,
        ).fetchall()
        keys = self._connection.execute(
            "SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names "
            "FROM duckdb_constraints() WHERE schema_name = ? AND table_name = ?",
            place,
        ).fetchall()
        primary: list[str] = next((names for kind, names, _, _ in keys if kind == "PRIMARY KEY"), [])
        foreign = [session.ForeignKey(names, other, references) for kind, names, other, references in keys if other]
        return replace(
            table,
            columns=[session.Column(name, kind, nullable, default) for name, kind, nullable, default in columns],
            primary_key=list(primary),
            foreign_keys=foreign,
        )

    def insert(self, target: str, columns: session.Columns, *, create: str) -> None:
        names = [self.quote(column) for column in columns]
        insert = f"INSERT INTO {target} ({', '.join(names)})"
        stored = [_storable(values) for values in columns.values()]
        self._connection.begin()
        if create:
            self._connection.execute(create)
        described = self._connection.execute(f"SELECT {', '.join(names)} FROM {target} LIMIT 0").description or ()
        for (_, kind, *_), values in zip(described, stored, strict=True):
            _require_zones(str(kind), values)
        if all(_are_alike(values, new=bool(create)) for values in stored):
            # A column as one parameter: a parameter for each value takes twenty times as long. Errors name it.
            columns_as_rows = ", ".join(f"unnest(?) AS {name}" for name in names)
            self._connection.execute(f"{insert} SELECT * FROM (SELECT {columns_as_rows})", stored)
        else:
            rows = list(zip(*stored, strict=True))
            line = f"({', '.join('?' * len(names))})"
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                chunk = rows[start : start + _ROWS_AT_ONCE]
                values = [value for row in chunk for value in row]
                self._connection.execute(f"{insert} VALUES {', '.join([line] * len(chunk))}", values)
        self._commit()

    def _commit(self) -> None:
        """Put what was changed into the file now: there is no log, and closing would not say what went wrong."""
        self._connection.commit()
        self._connection.execute("FORCE CHECKPOINT")


def _storable(values: Sequence[object]) -> list[Any]:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds.isdisjoint((dict, list)):
        return [session.write_json(value) if isinstance(value, dict | list) else value for value in values]
    numbers: list[Any] = list(values)
    if kinds == {Decimal} and all(number is None or number.is_finite() for number in numbers):
        return [None if number is None else format(number, "f") for number in numbers]  # else all get one scale
    return numbers


def _are_alike(values: list[Any], *, new: bool) -> bool:
    """True if DuckDB takes all values of a column for the same type; in one list it changes others to fit together."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {int}:
        return session.in_64_bits([value for value in values if value is not None])
    if kinds == {datetime}:
        return len({value.tzinfo is None for value in values if value is not None}) == 1
    return kinds <= ({int, float} if new else {float}) or (len(kinds) == 1 and kinds <= _PLAIN)


# -- values

_ALWAYS_ODD = frozenset({"INTERVAL", "TIMESTAMP_NS", "TIME_NS"})  # kinds of which Python keeps a part only


def _kept(text: str, kinds: Sequence[DuckDBPyType]) -> str:
    """Return a statement that gives the same rows, with DuckDB's own text for each value that Python would change."""
    shown = []
    for number, kind in enumerate(map(str, kinds)):
        name, both = f"c{number}", f"UNION(v {kind}, t VARCHAR)"
        whole = _WHOLE[kind].format(name) if kind in _WHOLE else ""
        shown.append(f"CASE WHEN {whole} THEN {name}::{both} ELSE {name}::VARCHAR::{both} END" if whole else name)
    names = ", ".join(f"c{number}" for number in range(len(kinds)))
    return f"SELECT {', '.join(shown)} FROM ({text}) AS kept({names})"


def _collected(cursor: duckdb.DuckDBPyConnection, limits: session.Limits) -> session.StatementRows:
    """Collect rows, with JSON as values wherever it is."""
    readers = {place: _reader(column[1]) for place, column in enumerate(cursor.description or ())}
    rows = session.collected(cursor, limits)
    for place, read in readers.items():
        if read is not None:
            rows = replace(rows, rows=list(session.converted(rows.rows, [place], read)))
    return rows


def _reader(kind: DuckDBPyType) -> Read | None:
    """Return what reads values of a kind that the library does not, None for most."""
    if str(kind) == "JSON":
        return session.read_json
    if kind.id in ("list", "array"):
        item = _inner_reader(kind.children[0][1])
        return item and (lambda value: None if value is None else [*map(item, value)])
    if kind.id == "struct":
        fields = {name: read for name, child in kind.children if (read := _inner_reader(child))}
        if fields:
            return lambda value: value and {**value, **{name: read(value[name]) for name, read in fields.items()}}
    return None


def _inner_reader(kind: object) -> Read | None:
    if str(kind) in _MOMENTS or str(kind) == "INTERVAL":
        return _require_certain
    return _reader(kind) if isinstance(kind, DuckDBPyType) else None


def _require_certain(value: Any) -> object:
    """Raise ToolError for a value in a list or struct that may stand for another one."""
    if value in _ENDS or (isinstance(value, timedelta) and abs(value.days) > 27):
        raise ToolError(f"{value} in a list or struct may also be infinity, or an interval of months; cast it to text")
    return value


def _require_zones(kind: str, values: Sequence[object]) -> None:
    """Raise ToolError for moments that DuckDB would move to, or from, its own time zone."""
    wanted = kind.endswith("TIME ZONE")
    if wanted or kind in {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE", "TIME", "TIME_NS"}:
        for value in values:
            if isinstance(value, datetime | time):
                session.require_zone(value, wanted=wanted)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _worded(error: duckdb.Error) -> str:
    closed = isinstance(error, duckdb.PermissionException)
    return f"DuckDB: {' '.join(str(error).split())}{'; only files named with `path` are open' if closed else ''}"
