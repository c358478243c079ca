"""SQL that writes in more than thirty ways, on four engines: refused before anything is sent, and by each engine too."""

from __future__ import annotations

import pytest

from ot.errors import ToolError
from ot_packs.db.reading import refuse_denied_functions, require_reading
from ot_packs.db.statements import Engine, NotReadableError, read_statement
from tests.packs.db import hostile_statements as hostile

STATEMENTS = {
    Engine.SQLITE: hostile.SQLITE,
    Engine.DUCKDB: hostile.DUCKDB,
    Engine.POSTGRES: hostile.POSTGRES,
    Engine.MARIADB: hostile.MARIADB,
}


@pytest.mark.parametrize(("engine", "sql"), [(engine, sql) for engine, all_ in STATEMENTS.items() for sql in all_])
def test_a_statement_that_does_more_than_read_is_refused(engine: Engine, sql: str) -> None:
    with pytest.raises(ToolError):
        require_reading(read_statement(sql.format(loot="/tmp/loot") if "{" in sql else sql, engine))


@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        (Engine.POSTGRES, "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) OVER (ORDER BY n) FROM t"),
        (Engine.POSTGRES, "SELECT data->>'a', data @> '{\"a\": 1}'::jsonb, tags[1:2], now() AT TIME ZONE 'utc' FROM t TABLESAMPLE system (10)"),
        (Engine.POSTGRES, "SELECT * FROM jsonb_to_recordset('[]') AS r(a int, b text), LATERAL (SELECT 1) q, generate_series(1, 3) WITH ORDINALITY"),
        (Engine.POSTGRES, "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), count(*) FILTER (WHERE x > 1) FROM t GROUP BY ROLLUP (a) FETCH FIRST 3 ROWS ONLY"),
        (Engine.POSTGRES, "SELECT DISTINCT ON (a) a, 'it''s -- no comment', $$a; DELETE$$, E'\\'', pg_sleep(0) FROM t"),
        (Engine.POSTGRES, "TABLE t"),
        (Engine.POSTGRES, "VALUES (1, 2)"),
        (Engine.MARIADB, "SELECT `a`, GROUP_CONCAT(DISTINCT c ORDER BY c SEPARATOR ';'), 'a;b', \"#x\", SLEEP(0) FROM t USE INDEX (i) WHERE MATCH (a) AGAINST ('x') # end"),
        (Engine.MARIADB, "SELECT CAST(a AS UNSIGNED), DATE_ADD(NOW(), INTERVAL 1 DAY), a <=> b, 5--1 FROM t NATURAL JOIN u LIMIT 1, 2"),
        (Engine.MARIADB, "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (x INT PATH '$')) AS jt"),
        (Engine.SQLITE, "SELECT rowid, json_extract(a, '$.x'), a GLOB 'x*' FROM t INDEXED BY i, json_each(t.a) ORDER BY a COLLATE NOCASE;"),
        (Engine.SQLITE, "SELECT name FROM pragma_table_info('t')"),
        (Engine.DUCKDB, "FROM t SELECT list_transform([1, 2], x -> x + 1), {'a': 1}, * EXCLUDE (b) QUALIFY row_number() OVER () = 1 USING SAMPLE 10%"),
        (Engine.DUCKDB, "PIVOT t ON a USING sum(b) GROUP BY c"),
        (Engine.DUCKDB, "SUMMARIZE t"),
        (Engine.DUCKDB, "SELECT unnest([1]), range(3), a::DECIMAL(10, 2) FROM range(3) t(a) ASOF JOIN u ON a >= b GROUP BY ALL"),
    ],
)  # fmt: skip
def test_a_statement_that_reads_is_admitted(engine: Engine, sql: str) -> None:
    require_reading(read_statement(sql, engine))


def test_what_is_sent_has_no_comments() -> None:
    statement = read_statement("SELECT 1 -- one\n, /* two */ 'a -- b'/*three*/AS c;", Engine.POSTGRES)

    assert statement.text == "SELECT 1 , 'a -- b' AS c"


@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        (Engine.SQLITE, "VACUUM INTO 'a'"),
        (Engine.POSTGRES, "CALL p(1, 'x')"),
        (Engine.POSTGRES, "DO $$ BEGIN NULL; END $$"),
        (Engine.MARIADB, "OPTIMIZE TABLE a"),
        (Engine.POSTGRES, "EXECUTE EXECUTE p (1)"),
    ],
)
def test_what_a_person_agrees_to_is_what_is_sent(engine: Engine, sql: str) -> None:
    assert read_statement(sql, engine).text == sql


def test_a_function_is_seen_inside_of_what_the_parser_does_not_read() -> None:
    with pytest.raises(NotReadableError, match="pg_read_file is not admitted"):
        refuse_denied_functions(read_statement("CALL p(pg_read_file('/etc/passwd'))", Engine.POSTGRES))


def test_the_refusal_names_the_way_out() -> None:
    with pytest.raises(NotReadableError, match=r"EXPLAIN does more than read, or is not understood; .*db\.explain"):
        require_reading(read_statement("EXPLAIN SELECT 1", Engine.POSTGRES))


def test_a_statement_nested_too_deeply_is_refused() -> None:
    with pytest.raises(NotReadableError):
        require_reading(read_statement("SELECT " + "(" * 20_000 + "1" + ")" * 20_000, Engine.POSTGRES))
