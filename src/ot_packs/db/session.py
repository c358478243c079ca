"""A database that is open in a helper process, whichever engine it is, and rows on their way out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable
from uuid import UUID

from ot.errors import ToolError

if TYPE_CHECKING:
    from ot_packs.db.statements import Params, Statement

_MOST_IN_CHUNK = 10_000
_CHUNK_BYTES = 4 * 1024 * 1024
_SURE_DIGITS = 15  # of a number that a float keeps whatever they are

Row = Sequence[Any]
"""The values of one row, which pass through unread."""

Columns = Mapping[str, Sequence[Any]]
"""Values by column, as many in each."""
AS_GUESSED: CsvReading = {"encoding": None, "types": None}


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of rows, and of their bytes, that a call may return, and the number of rows to skip."""

    rows: int
    bytes: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class StatementRows:
    """The result of a statement: its columns, its rows up to the limits, and the number of changed rows."""

    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    more: bool = False
    cut_by: str = ""  # "rows" or "bytes", where there is more
    changed: int | None = None


class CsvReading(TypedDict):
    """How CSV and TSV files are read: their encoding, None for UTF-8, and types of columns that are not guessed."""

    encoding: str | None
    types: dict[str, str] | None


def collect(columns: Iterable[str], fetch: Callable[[int], Sequence[Row]], limits: Limits) -> StatementRows:
    """Fetch rows in chunks, `fetch(n)` gives at most n of them, until they end or a limit is reached."""
    names = unique(columns)
    rows: list[Row] = []
    size, chunk, skipped = 0, 64, 0  # rows; after that as many as a chunk of bytes holds
    while skipped < limits.offset:
        part = fetch(min(_MOST_IN_CHUNK, limits.offset - skipped))
        if not part:
            return StatementRows(names)
        skipped += len(part)
    while len(rows) <= limits.rows:
        wanted = min(chunk, limits.rows + 1 - len(rows))
        part = fetch(wanted)
        rows += part
        added = size_of(part)
        size += added
        if size > limits.bytes:
            return _cut_to_bytes(names, rows, limits)
        if len(part) < wanted:
            return StatementRows(names, rows)
        chunk = max(1, min(_MOST_IN_CHUNK, _CHUNK_BYTES * len(part) // max(1, added)))
    return StatementRows(names, rows[: limits.rows], more=True, cut_by="rows")


def collected(cursor: Any, limits: Limits) -> StatementRows:
    """Collect the rows of an executed statement; nothing if it has none."""
    if not cursor.description:
        return StatementRows()
    return collect([column[0] for column in cursor.description], cursor.fetchmany, limits)


def in_64_bits(numbers: Sequence[int]) -> bool:
    """True if all of them are such as databases store."""
    return not numbers or (min(numbers) >= -(2**63) and max(numbers) < 2**63)


def converted(rows: Sequence[Row], places: Sequence[int], convert: Callable[[Any], object]) -> Sequence[Row]:
    """Return rows with the values of some columns converted; most need no look at each value."""
    if not places:
        return rows
    read = [list(row) for row in rows]
    for row in read:
        for place in places:
            row[place] = convert(row[place])
    return read


def read_json(text: Any) -> object:
    """Return the value of a JSON column, its numbers with all their digits; what is no JSON stays as it is."""
    try:
        return json.loads(text, parse_float=_exact) if isinstance(text, str | bytes) else text
    except ValueError:
        return text


def _exact(digits: str) -> float | Decimal:
    number = float(digits)
    return number if len(digits) <= _SURE_DIGITS or Decimal(repr(number)) == Decimal(digits) else Decimal(digits)


def write_json(value: object) -> str:
    """Write a value for a JSON column; raises ToolError for what it would change."""
    try:
        return json.dumps(value, default=_in_json, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ToolError("JSON has no NaN and no infinity; pass None, or a text") from None


def _in_json(value: object) -> object:
    match value:
        case Decimal():
            return number_for(value, "JSON")
        case date() | time() | UUID():
            return str(value)
    raise ToolError(f"JSON has no value of type {type(value).__name__}; pass it as text")


def require_zone(value: datetime | time, *, wanted: bool) -> None:
    """Raise ToolError unless a moment has a time zone where the column has one."""
    if (value.tzinfo is not None) == wanted:
        return
    if wanted:
        raise ToolError(f"{value} has no time zone, and the column has one: say which, value.replace(tzinfo=...)")
    raise ToolError(
        f"{value} has a time zone, and the column has none: convert it, as in "
        "value.astimezone(datetime.timezone.utc).replace(tzinfo=None)"
    )


def number_for(value: Decimal, place: str) -> int | float:
    """Return a decimal number as one that rounds nothing; raises ToolError where there is none."""
    if value.is_finite():
        whole = int(value) if value.adjusted() < 20 else None
        if whole is not None and whole == value and -(2**63) <= whole < 2**63:
            return whole
        number = float(value)
        if Decimal(repr(number)) == value:
            return number
    raise ToolError(f"{place} would round the number {value}; pass it as text, str(value), or as a float")


def _cut_to_bytes(names: list[str], rows: list[Row], limits: Limits) -> StatementRows:
    size = 0
    for count, row in enumerate(rows):
        size += size_of([row])
        if count == 0 and size > limits.bytes:
            raise ToolError(
                f"row {limits.offset + 1} alone has {size:,} bytes, and packs.db.max_bytes allows {limits.bytes:,}; "
                "select fewer columns, or parts of its texts"
            )
        if size > limits.bytes or count >= limits.rows:
            return StatementRows(names, rows[:count], more=True, cut_by="bytes" if size > limits.bytes else "rows")
    return StatementRows(names, rows)


def size_of(rows: Sequence[Row]) -> int:
    """Estimate the bytes of rows: texts by their length, what has parts by how it is written, the rest by eight."""
    size = 0
    for column in zip(*rows, strict=True):
        size += 8 * len(column)
        kinds = set(map(type, column))
        if kinds <= {str, bytes}:
            size += sum(map(len, column))
        elif not kinds <= {int, float, bool, type(None)}:
            size += sum(map(_length, column))
    return size


def _length(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return len(repr(value)) if isinstance(value, list | tuple | dict) else 0


def unique(columns: Iterable[str]) -> list[str]:
    """Give every column a name of its own: the second `id` is `id_2`."""
    names: list[str] = []
    taken: set[str] = set()
    for name in columns:
        number, new = 1, name or "column"
        while new in taken:
            number += 1
            new = f"{name or 'column'}_{number}"
        taken.add(new)
        names.append(new)
    return names


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    nullable: bool = True
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that name a row of another table, and its columns."""

    columns: list[str]
    table: str
    references: list[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view; `schema` is empty where the engine has none, or it is the usual one."""

    name: str
    schema: str = ""
    kind: str = "table"
    columns: list[Column] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    indexes: list[list[str]] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


def group_keys(rows: Iterable[tuple[Any, str, str, str | None]]) -> list[ForeignKey]:
    """Group the columns of foreign keys: name of the key, column, other table, its column (None: its primary key)."""
    keys: dict[object, ForeignKey] = {}
    for name, column, other, reference in rows:
        key = keys.setdefault(name, ForeignKey([], other, []))
        key.columns.append(column)
        if reference is not None:
            key.references.append(reference)
    return list(keys.values())


def group_columns(rows: Iterable[tuple[Any, str | None]]) -> list[list[str]]:
    """Group the columns of indexes, given as pairs of the index's name and a column."""
    indexes: dict[object, list[str]] = {}
    for name, column in rows:
        indexes.setdefault(name, []).append(column or "(expression)")
    return list(indexes.values())


class Session(Protocol):
    """An open database of any engine. What fails in it is raised as ToolError with the database's own words."""

    dialect: str

    def read(self, statement: Statement, params: Params, limits: Limits) -> StatementRows:
        """Carry out a statement that was found to read, in the engine's own read-only mode as well."""

    def write(self, statement: Statement, params: Params, limits: Limits) -> StatementRows:
        """Carry out any statement, as one transaction."""

    def explain(self, statement: Statement, params: Params) -> str:
        """Return the plan of a statement that was found to read, without carrying it out."""

    def tables(self) -> list[Table]:
        """Return tables and views, without their columns."""

    def describe(self, table: Table) -> Table:
        """Return a table with its columns and keys."""

    def quote(self, name: str) -> str:
        """Write a name so that it is nothing but a name, as standard SQL does."""
        return '"' + name.replace('"', '""') + '"'

    def insert(self, target: str, columns: Columns, *, create: str) -> None:
        """Insert the values of columns, after the statement `create` if there is one, as one transaction."""


@runtime_checkable
class ServerSession(Session, Protocol):
    """A session on a server, which outlives the calls."""

    @property
    def usable(self) -> bool:
        """False once its connection is closed."""

    def prepare(self, token: str, seconds: float) -> None:
        """Begin a call: its mark, by which another connection can stop it, and its time limit."""

    def stop(self, token: str) -> None:
        """Cancel what another connection of the same role does under a mark."""

    def excess(self) -> list[str]:
        """Return what the role may do that reading has no need of."""
