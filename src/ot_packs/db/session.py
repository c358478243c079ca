"""A database that is open in a helper process, whichever engine it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ot_packs.db.rows import Limits, StatementRows
from ot_packs.db.statements import Params, Statement


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

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


def quoted(name: str) -> str:
    """Write a name as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


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
        """Write a name so that it is nothing but a name."""

    def insert(self, target: str, columns: list[str], rows: Iterable[Sequence[object]], *, create: str) -> int:
        """Insert rows, after the statement `create` if there is one, as one transaction; returns how many."""


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
