"""The dialects of databases: as SQLAlchemy names them, and as the parser that judges statements does."""

from __future__ import annotations

GENERIC = ""
_PARSED = {
    "postgresql": "postgres", "cockroachdb": "postgres", "mysql": "mysql", "mariadb": "mysql", "mssql": "tsql",
    "awsathena": "athena", "gsheets": "sqlite",
}  # fmt: skip
_SAME = frozenset(
    (
        "athena", "bigquery", "clickhouse", "databricks", "doris", "dremio", "drill", "druid", "duckdb", "exasol",
        "hive", "oracle", "presto", "redshift", "snowflake", "spark", "sqlite", "starrocks", "teradata", "trino",
    )
)  # fmt: skip


def dialect_of(scheme: str) -> str:
    """Return what the parser calls a dialect of SQLAlchemy; one that it does not know is read as plain SQL."""
    return _PARSED.get(scheme, scheme if scheme in _SAME else GENERIC)
