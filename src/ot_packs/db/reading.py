"""Judges whether a statement only reads: its syntax tree, node by node, and the functions that it calls.

A read-only transaction is not enough: in PostgreSQL's, `COPY … TO PROGRAM` runs programs and `pg_read_file` reads
files; MariaDB's ends with the first `DROP TABLE`. So a tree is admitted only if it consists of nodes that are known to
read, and whatever the parser does not know is refused; on a server, so is a function or system table that is not known.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from ot_packs.db.known_names import FUNCTIONS, SYNTAX, may_read_table
from ot_packs.db.statements import Engine, NotReadableError, Params, Statement, Word, first_line, read_statement

# It warns of whatever it does not understand, which is refused here.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

WAY_OUT = (
    "only statements that read are admitted; db.explain, db.schema and db.tables cover EXPLAIN, DESCRIBE and SHOW, and "
    "write=True asks the person for everything else"
)

_STATEMENTS = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_CONDITIONS = (exp.Condition, exp.Query, exp.Func)
_CLAUSES = frozenset({
    "Alias", "Aliases", "AtIndex", "AtTimeZone", "CTE", "CharacterSet", "ColumnDef", "Comprehension", "Cube",
    "DataType", "DataTypeParam", "Distinct", "Fetch", "Filter", "ForIn", "FormatJson", "From", "FromTimeZone",
    "Group", "GroupingSets", "Having", "HavingMax", "Identifier", "IgnoreNulls", "IndexTableHint", "Interval",
    "IntervalSpan", "Introducer", "JSON", "JSONColumnDef", "JSONExtractQuote", "JSONKeyValue", "JSONPath",
    "JSONPathFilter", "JSONPathKey", "JSONPathPart", "JSONPathRecursive", "JSONPathRoot", "JSONPathScript",
    "JSONPathSelector", "JSONPathSlice", "JSONPathSubscript", "JSONPathUnion", "JSONPathWildcard", "JSONSchema",
    "JSONValue", "Join", "Lambda", "Lateral", "Limit", "LimitOptions", "National", "Nearest", "ObjectIdentifier",
    "Offset", "OnCondition", "Opclass", "Order", "Ordered", "OverflowTruncateBehavior", "PivotAlias", "PivotAny",
    "PositionalColumn", "ProjectionDef", "PseudoType", "Qualify", "RecursiveWithSearch", "RespectNulls", "Rollup",
    "Slice", "Sort", "Star", "Table", "TableAlias", "TableColumn", "TableFromRows", "TableSample", "Tuple",
    "UnpivotColumns", "Values", "Var", "Variadic", "Where", "Window", "WindowSpec", "With", "WithinGroup",
    "XMLNamespace",
})  # fmt: skip

# Functions that reach files, programs, other servers, locks, settings or statements given as text, by engine.
_DENIED: dict[str, str] = {
    Engine.SQLITE: r"load_extension|readfile|writefile|edit|fts3_tokenizer|zipfile\w*|fsdir|sqlite_dbpage",
    Engine.DUCKDB: (
        r"read_\w+|\w+_scan\w*|glob|sniff_csv|parquet_\w+|query|query_table|json_execute_\w+|json_serialize_\w+|"
        r"json_deserialize_\w+|getenv|nextval|duckdb_secrets|which_secret|\w*checkpoint|write_log|\w+_logging|"
        r"python_\w+|\w+_attach|\w+_query|\w+_execute|http_\w+|st_read\w*|set_config"
    ),
    Engine.POSTGRES: (
        r"pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_file_\w+|pg_logdir_\w+|pg_rotate_\w+|pg_current_logfile|lo_\w+|"
        r"loread|lowrite|dblink\w*|postgres_fdw_\w+|set_config|nextval|setval|pg_notify|pg_advisory_\w+|"
        r"pg_try_advisory_\w+|pg_terminate_\w+|pg_cancel_\w+|pg_reload_\w+|pg_promote|pg_switch_\w+|pg_create_\w+|"
        r"pg_drop_\w+|pg_copy_\w+|pg_logical_\w+|pg_replication_\w+|pg_start_backup|pg_stop_backup|pg_backup_\w+|"
        r"pg_wal_replay_\w+|pg_stat_reset\w*|pg_stat_statements_reset|pg_stat_clear_\w+|pg_stat_force_\w+|"
        r"pg_export_snapshot|pg_import_\w+|pg_log_\w+|pg_sync_\w+|pg_extension_config_dump|pg_hba_file_rules|"
        r"pg_ident_file_mappings|pg_show_all_file_settings|pg_nextoid|pg_prewarm|autoprewarm\w*|pg_truncate_\w+|"
        r"pg_force_\w+|pg_restore_\w+|pg_clear_\w+|pg_replace_\w+|binary_upgrade_\w+|brin_\w+summarize_\w+|"
        r"gin_clean_\w+|query_to_xml\w*|cursor_to_xml\w*|table_to_xml\w*|schema_to_xml\w*|database_to_xml\w*|"
        r"ts_stat|ts_rewrite|crosstab\w*|connectby|xpath_table|http|http_\w+|\w+_call_handler|\w+_inline_handler"
    ),
    Engine.MARIADB: (
        r"load_file|sys_\w+|lib_mysqludf_\w+|get_lock|release_lock|release_all_locks|nextval|setval|master_\w+|"
        r"source_pos_wait|wait_for_executed_gtid_set|wait_until_sql_thread_after_gtids|wsrep_\w+|spider_\w+|"
        r"mroonga_\w+|asynchronous_\w+|group_replication_\w+|version_tokens_\w+|keyring_\w+"
    ),
}
_DENIED_NAMES = {engine: re.compile(names, re.IGNORECASE) for engine, names in _DENIED.items()}
_ANY_DENIED = re.compile("|".join(_DENIED.values()), re.IGNORECASE)

# Names of functions, and of what holds them, that reach out of databases of other makers; sequences that go on.
_PACKAGES = re.compile(
    r"(utl|dbms|owa|htp|htf|apex|wwv)_\w+|httpuritype|openrowset|opendatasource|openquery|nextval", re.IGNORECASE
)

_PIVOTS = ("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
_SIGNS = re.compile(r"[\d\s!-/:-@\[-^`{-~]+")

# Functions in DuckDB that stand for a table and have nothing to do with files.
_TABLE_FUNCTIONS = re.compile(
    r"range|generate_series|unnest|json_each|json_tree|repeat|repeat_row|generate_subscripts|"
    r"duckdb_(tables|views|columns|constraints|indexes|schemas|types|functions|keywords|sequences|databases)|"
    r"pragma_(table_info|storage_info|version|database_size|show)",
    re.IGNORECASE,
)


def require_reading(statement: Statement, params: Params = None) -> None:
    """Raise NotReadableError, with the way out, unless the statement only reads."""
    tree = _parse(statement, params)
    roots = _STATEMENTS + ((exp.Pivot, exp.Summarize) if statement.dialect == Engine.DUCKDB else ())
    if not isinstance(tree, roots):
        first = statement.words[0].raw[:40].upper()
        raise NotReadableError(f"{first} does more than read, or is not understood; {WAY_OUT}")
    for node in tree.walk():
        if not (isinstance(node, (*_CONDITIONS, *roots)) or type(node).__name__ in _CLAUSES):
            clause = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
            raise NotReadableError(f"{clause} is not part of a statement that only reads; {WAY_OUT}")
    refuse_denied_functions(statement)
    if statement.dialect in FUNCTIONS:
        _refuse_unlisted_functions(statement, tree)
        _refuse_unlisted_tables(statement, tree)
    if statement.dialect not in set(Engine):
        _refuse_unknown_functions(statement, tree)
    if statement.dialect == Engine.DUCKDB:
        _refuse_other_table_functions(tree)


def refuse_denied_functions(statement: Statement) -> None:
    """Raise NotReadableError for a function that leaves the tables; the words tell, whatever the tree says."""
    denied = _DENIED_NAMES.get(statement.dialect, _ANY_DENIED)
    called = [word.text for word, following in pairwise(statement.words) if following.raw == "("]
    for name in (*called, *attribute_names(statement)):
        if denied.fullmatch(name):
            raise NotReadableError(
                f"{name} is not admitted: functions that reach files, programs, locks, settings or other servers "
                "are refused, in statements that write too"
            )


def _parse(statement: Statement, params: Params) -> exp.Expr:
    statement = _wrapped_pivot(statement)
    # Where `?` may be an operator too, the parser is shown parameters by number.
    text = statement.bind(params, "$")[0] if statement.dialect in (Engine.POSTGRES, Engine.DUCKDB) else statement.text
    try:
        trees = sqlglot.parse(text, dialect=statement.dialect)
    except SqlglotError as error:
        raise NotReadableError(f"the statement is not understood ({first_line(error)}); {WAY_OUT}") from None
    except RecursionError:
        raise NotReadableError("the statement is nested too deeply") from None
    if len(trees) != 1 or trees[0] is None:
        raise NotReadableError("several statements; call once for each of them")
    return trees[0]


def _wrapped_pivot(statement: Statement) -> Statement:
    """Return DuckDB's PIVOT as a subquery, if ORDER BY or LIMIT follows it, which the parser does not expect there."""
    words = statement.words
    if statement.dialect != Engine.DUCKDB or words[0].text.upper() not in _PIVOTS:
        return statement
    depth = 0
    for place, word in enumerate(words):
        depth += (word.raw == "(") - (word.raw == ")")
        if depth == 0 and word.kind in (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET):
            before = read_statement("SELECT * FROM (1)", statement.dialect).words
            head = replace(words[0], spaced=True)
            return Statement(statement.dialect, (*before[:-2], head, *words[1:place], before[-1], *words[place:]))
    return statement


def attribute_names(statement: Statement) -> list[str]:
    """Return the names after a dot, which PostgreSQL may call: `('/etc/passwd'::text).pg_read_file` reads the file."""
    if statement.dialect != Engine.POSTGRES:
        return []
    words = statement.words
    return [
        word.text if word.quoted else word.text.lower()
        for before, word in pairwise(words)
        if before.raw == "." and word.raw != "*"
    ]


def _refuse_unlisted_functions(statement: Statement, tree: exp.Expr) -> None:
    """Refuse calls of functions that are not listed, by the words, which are what the server reads."""
    known = FUNCTIONS[statement.dialect]
    names = Counter(alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.columns)
    nowhere = Word("", "", quoted=False, spaced=False, kind=TokenType.SPACE)
    words = (nowhere, nowhere, *statement.words)
    for owner, before, word, following in zip(words, words[1:], words[2:], words[3:], strict=False):
        if word.raw == ":=":
            raise NotReadableError(f"`:=` sets a variable; {WAY_OUT}")
        is_name = word.kind is TokenType.IDENTIFIER or not (word.quoted or _SIGNS.fullmatch(word.raw))
        if following.raw != "(" or not is_name:
            continue
        name = word.text.split()[-1].lower()
        if before.raw == ".":
            listed = owner.text.lower() == "pg_catalog" and name in known
        else:
            listed = name in known or (name in SYNTAX and not word.quoted) or before.text.lower() == "tablesample"
        if not listed:
            names[name] -= 1  # the columns of a WITH or of an alias are named like this too, once for each of them
            if before.raw == "." or names[name] < 0:
                raise NotReadableError(f"the function {word.text} is not known to only read; {WAY_OUT}")


def _refuse_unlisted_tables(statement: Statement, tree: exp.Expr) -> None:
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not may_read_table(statement.dialect, table.db, table.name):
            raise NotReadableError(
                f"the system table {table.name} is not admitted: it may hold settings, accounts or files of the "
                "server; information_schema is, and the tables that describe tables and their use"
            )


def _refuse_other_table_functions(tree: exp.Expr) -> None:
    for table in tree.find_all(exp.Table):
        function = table.this
        if isinstance(function, exp.Func):
            name = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
            if not _TABLE_FUNCTIONS.fullmatch(name):
                raise NotReadableError(
                    f"{name.lower()} is not admitted as a table; name files with `path`, and each is a table by the "
                    "name of its file"
                )


def _refuse_unknown_functions(statement: Statement, tree: exp.Expr) -> None:
    """Refuse what may do anything in a database of which we have no list: functions that are no part of SQL."""
    package = next((word.text for word in statement.words if _PACKAGES.fullmatch(word.text)), None)
    if package is not None:
        raise NotReadableError(f"{package} is not admitted; {WAY_OUT}")
    for function in tree.find_all(exp.Anonymous, exp.NextValueFor):
        name = function.name or "NEXT VALUE FOR"
        raise NotReadableError(f"{name} is not known to only read on this kind of database; {WAY_OUT}")
