"""What people ask of a server stays readable: each statement is carried out, by the servers themselves."""

from __future__ import annotations

import asyncpg
import pytest

from ot.app import App
from ot_packs.db.known_names import FUNCTIONS
from ot_packs.db.statements import Engine
from tests.engine import answer_of
from tests.packs.db.conftest import mariadb_as_admin, postgres_as_admin
from tests.packs.db.servers import RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

BOTH = [
    "SELECT count(*), count(DISTINCT product), sum(amount), avg(amount), min(id), max(id), stddev(amount) FROM orders",
    "SELECT product, sum(amount) AS n FROM orders GROUP BY product HAVING sum(amount) > 1 ORDER BY n DESC LIMIT 2 OFFSET 0",
    (
        "SELECT id, row_number() OVER (PARTITION BY product ORDER BY id), rank() OVER (ORDER BY amount), dense_rank() OVER w, "
        "lag(amount, 1) OVER w, lead(amount) OVER w, first_value(id) OVER w, last_value(id) OVER w, ntile(2) OVER w, "
        "cume_dist() OVER w, percent_rank() OVER w, sum(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
        "FROM orders WINDOW w AS (ORDER BY id)"
    ),
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t",
    "WITH a(x, y) AS (SELECT id, name FROM products), b AS (SELECT x FROM a) SELECT a.y FROM a JOIN b USING (x)",
    (
        "SELECT upper(name), lower(name), length(name), substring(name, 1, 2), trim(name), replace(name, 'a', 'b'), "
        "concat(name, '-', id), concat_ws(',', name, id), left(name, 2), right(name, 2), lpad(name, 9, '.'), rpad(name, 9, '.'), "
        "reverse(name), repeat(name, 2), position('a' IN name), ascii(name), md5(name), char_length(name) FROM products"
    ),
    (
        "SELECT abs(-1), ceil(1.2), floor(1.8), round(1.25, 1), mod(7, 3), power(2, 3), sqrt(4), exp(1), ln(2), sign(-3), "
        "greatest(1, 2), least(1, 2), pi(), degrees(1), radians(1), sin(1), cos(1), tan(1), atan2(1, 2)"
    ),
    (
        "SELECT coalesce(price, 0), nullif(id, 1), CASE WHEN price > 4 THEN 'dear' ELSE 'cheap' END, CAST(price AS DECIMAL(8, 1)) "
        "FROM products WHERE name LIKE '%e%' AND id IN (1, 2, 3) AND (price BETWEEN 1 AND 9 OR price IS NULL) AND NOT (id = 9)"
    ),
    "SELECT now(), current_timestamp, current_date, extract(year FROM current_date), extract(month FROM now())",
    "SELECT p.name, o.amount FROM products p LEFT JOIN orders o ON (o.product = p.id) WHERE EXISTS (SELECT 1 FROM orders)",
    "SELECT id FROM products UNION (SELECT id FROM orders) EXCEPT SELECT 9 ORDER BY 1",
    "SELECT table_name FROM information_schema.tables WHERE table_name = 'orders'",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position",
    "SELECT constraint_name FROM information_schema.table_constraints WHERE table_name = 'orders'",
    "SELECT * FROM information_schema.key_column_usage WHERE table_name = 'orders'",
    "SELECT * FROM information_schema.views WHERE 1 = 0",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v",
    "SELECT version(), current_user",
]

POSTGRES = [
    "SELECT * FROM (SELECT id, name FROM products) AS q (number, label)",
    ("SELECT string_agg(name, ', ' ORDER BY name), array_agg(id), bool_and(price > 1), every(id > 0), mode() WITHIN GROUP "
    "(ORDER BY price), percentile_cont(0.5) WITHIN GROUP (ORDER BY price), corr(id, price), count(*) FILTER (WHERE id > 1) FROM products"),
    "SELECT product, amount, sum(id), grouping(product) FROM orders GROUP BY GROUPING SETS ((product), (amount), ())",
    "SELECT product, sum(id) FROM orders GROUP BY ROLLUP (product), CUBE (amount)",
    ("SELECT date_trunc('month', now()), date_part('year', now()), age(now(), now() - interval '1 day'), to_char(now(), 'YYYY-MM'), "
    "to_date('2026', 'YYYY'), make_date(2026, 1, 2), now()::date + interval '1 month', now() AT TIME ZONE 'Europe/Berlin', "
    "to_timestamp(0), date_bin('15 minutes', now(), timestamptz '2026-01-01'), justify_days(interval '40 days'), "
    "make_interval(days => 3), clock_timestamp(), isfinite(now()), extract(epoch FROM now()), localtimestamp(0)"),
    "SELECT d::date FROM generate_series(date '2026-01-01', date '2026-01-05', interval '1 day') AS g(d)",
    ("SELECT '{\"a\": {\"b\": [1, 2]}}'::jsonb #>> '{a,b,0}', jsonb_path_query_array('[1, 2]', '$[*]'), jsonb_build_object('a', 1), "
    "to_jsonb(p), row_to_json(p), jsonb_set('{}', '{a}', '1'), jsonb_typeof('1'), jsonb_pretty('{}'), jsonb_strip_nulls('{}'), "
    "jsonb_array_length('[1]'), json_build_array(1), jsonb_extract_path_text('{\"a\": 1}', 'a') FROM products p"),
    "SELECT jsonb_agg(p), json_object_agg(p.id, p.name), jsonb_object_agg(p.id, p.name) FROM products p",
    "SELECT e.value, k FROM jsonb_array_elements('[1]') AS e(value), jsonb_object_keys('{\"a\": 1}') AS k, jsonb_each_text('{\"a\": 1}')",
    "SELECT * FROM jsonb_to_recordset('[{\"a\": 1}]') AS r(a int, b text)",
    ("SELECT initcap(name), split_part(name, 'e', 1), strpos(name, 'e'), regexp_replace(name, '(e)', '\\1'), regexp_match(name, 'e'), "
    "name ~ 'e', name ILIKE 'T%', format('%s-%s', name, id), translate(name, 'e', 'f'), quote_literal(name), starts_with(name, 't'), "
    "to_hex(10), encode(name::bytea, 'hex'), md5(name), sha256(name::bytea), chr(65), overlay(name PLACING 'x' FROM 1), btrim(name), "
    "left(name, 1), string_to_array(name, 'e'), regexp_split_to_array(name, 'e'), substring(name FROM 'e.') FROM products"),
    "SELECT * FROM regexp_split_to_table('a,b', ','), string_to_table('a,b', ','), unnest(ARRAY[1, 2]) WITH ORDINALITY AS u(v, n)",
    ("SELECT array_length(ARRAY[1], 1), cardinality(ARRAY[1]), array_position(ARRAY[1], 1), array_to_string(ARRAY[1, 2], ','), "
    "1 = ANY(ARRAY[1]), array_remove(ARRAY[1], 1), ARRAY[1] || 2, ARRAY(SELECT id FROM products)"),
    ("SELECT to_tsvector('english', 'cats') @@ to_tsquery('cat'), ts_rank(to_tsvector('a'), plainto_tsquery('a')), "
    "ts_headline('a b', websearch_to_tsquery('a'))"),
    "SELECT int4range(1, 5) @> 3, lower(int4range(1, 5)), isempty(int4range(1, 1)), range_merge(int4range(1, 2), int4range(3, 4))",
    "SELECT random(), gen_random_uuid(), width_bucket(5, 0, 10, 2), trunc(1.5), div(7, 2), gcd(4, 6), scale(1.50), cbrt(8), log(10)",
    "SELECT (SELECT x.name FROM products x WHERE x.id = o.product), o.* FROM orders o TABLESAMPLE system (100)",
    "SELECT DISTINCT ON (o.product) o.product, o.id FROM orders o ORDER BY o.product, o.id FETCH FIRST 2 ROWS ONLY",
    "SELECT q.n FROM products p CROSS JOIN LATERAL (SELECT count(*) AS n FROM orders WHERE product = p.id) q",
    ("SELECT c.relname, n.nspname, pg_size_pretty(pg_total_relation_size(c.oid)), obj_description(c.oid) FROM pg_catalog.pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public'"),
    "SELECT relname, n_live_tup FROM pg_stat_user_tables",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint LIMIT 1",
    "SELECT state, count(*) FROM pg_stat_activity GROUP BY state",
    "SELECT pg_typeof(1), current_database(), current_schema(), pg_table_is_visible('products'::regclass), has_table_privilege('products', 'SELECT')",
    "SELECT (r).a, (r).b FROM (SELECT jsonb_populate_record(NULL::readable_pair, '{\"a\": 1}') AS r) q",
    "SELECT numeric '1.5', CAST('1' AS integer), '2026-01-01'::date, varchar(3) 'abcd', interval '1' month, pg_catalog.upper('a')",
]  # fmt: skip

MARIADB = [
    "SELECT group_concat(DISTINCT name ORDER BY name SEPARATOR ';'), bit_or(id), var_samp(price), std(price) FROM products",
    "SELECT product, sum(amount) FROM orders GROUP BY product WITH ROLLUP",
    ("SELECT date_format(now(), '%Y-%m'), str_to_date('2026-01-02', '%Y-%m-%d'), date_add(curdate(), INTERVAL 1 MONTH), "
    "datediff(now(), '2026-01-01'), timestampdiff(DAY, '2026-01-01', now()), year(now()), month(now()), day(now()), hour(now()), "
    "dayname(now()), week(now()), last_day(now()), unix_timestamp(), from_unixtime(0), time_to_sec('01:00:00'), sec_to_time(60), "
    "timediff('02:00', '01:00'), convert_tz(now(), '+00:00', '+01:00'), makedate(2026, 3), quarter(now()), date(now()), "
    "date_sub(now(), INTERVAL 2 HOUR), utc_timestamp(), weekday(now()), yearweek(now())"),
    ("SELECT json_extract('{\"a\": 1}', '$.a'), json_unquote('\"a\"'), json_object('a', 1), json_array(1, 2), json_contains('[1]', '1'), "
    "json_keys('{}'), json_length('[]'), json_value('{\"a\": 1}', '$.a'), json_valid('{}'), json_set('{}', '$.a', 1), json_type('1'), "
    "json_search('[\"a\"]', 'one', 'a'), json_merge_patch('{}', '{}'), json_remove('{\"a\": 1}', '$.a')"),
    "SELECT json_arrayagg(name), json_objectagg(name, id) FROM products",
    "SELECT * FROM JSON_TABLE('[{\"a\": 1}]', '$[*]' COLUMNS (n FOR ORDINALITY, x INT PATH '$.a')) AS jt",
    ("SELECT instr(name, 'e'), locate('e', name), substring_index(name, 'e', 1), field(name, 'tea'), find_in_set('a', 'a,b'), "
    "elt(1, name), insert(name, 1, 1, 'x'), hex(name), unhex('61'), to_base64(name), lcase(name), ucase(name), mid(name, 1, 1), "
    "format(price, 2), space(2), soundex(name), strcmp(name, 'a'), quote(name), conv(10, 10, 2), sha2(name, 256), "
    "name REGEXP '^t', regexp_replace(name, 'e', 'x'), regexp_substr(name, 'e'), char(65), inet_aton('10.0.0.1') FROM products"),
    ("SELECT if(price > 4, 'dear', 'cheap'), ifnull(price, 0), isnull(price), truncate(price, 1), rand(), crc32(name), "
    "CAST(id AS UNSIGNED), CONVERT(id, CHAR(10)), CONVERT(name USING utf8mb4), 7 DIV 2, bit_count(5), uuid() FROM products"),
    "SELECT database(), schema(), connection_id(), found_rows(), collation('a'), charset('a'), @@version, @unset",
    "SELECT median(price) OVER (PARTITION BY id), nth_value(id, 1) OVER (ORDER BY id) FROM products",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) OVER (PARTITION BY id) FROM products",
    "SELECT * FROM products USE INDEX (PRIMARY) WHERE (id, name) IN ((1, 'tea'))",
    "SELECT table_rows, data_length FROM information_schema.tables WHERE table_schema = database()",
    "SELECT * FROM information_schema.statistics WHERE table_name = 'orders'",
    "SELECT st_astext(st_geomfromtext('POINT(1 2)')), st_distance(point(0, 0), point(1, 1)), st_x(point(1, 2))",
]  # fmt: skip


@pytest.mark.parametrize(("name", "statements"), [("postgres", BOTH + POSTGRES), ("mariadb", BOTH + MARIADB)])
async def test_aggregates_windows_dates_json_texts_and_the_schema_are_readable(
    shops: App, postgres: RunningServer, name: str, statements: list[str]
) -> None:
    async with postgres_as_admin(postgres) as admin:
        await admin.execute("DROP TYPE IF EXISTS readable_pair; CREATE TYPE readable_pair AS (a int, b text)")

    text = await answer_of(
        shops,
        f"""
refused = []
for sql in {statements!r}:
    try:
        db.query(connection={name!r}, sql=sql)
    except Exception as error:
        refused.append((sql, str(error)))
refused
""",
    )

    assert text == "[]"


async def test_a_name_after_a_dot_calls_no_function_of_the_database(shops: App, postgres: RunningServer) -> None:
    async with postgres_as_admin(postgres) as admin:
        await admin.execute(
            "CREATE OR REPLACE FUNCTION spend(text) RETURNS int LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'it was called'; END $$"
        )
        with pytest.raises(asyncpg.RaiseError, match="it was called"):
            await admin.execute("SELECT ('x'::text).spend")
    for sql in ("SELECT ('x'::text).spend", "SELECT t.spend FROM unnest(ARRAY['x'::text]) t"):
        for tool in ("query", "explain"):
            answer = await shops.runner.run(f'db.{tool}(connection="postgres", sql={sql!r})')

            assert "spend after a dot may call the function of that name" in answer.text


async def test_no_listed_function_of_postgres_changes_anything(postgres: RunningServer) -> None:
    """By its own word: all are immutable or stable, except for some that give another answer every time."""
    changing = {"clock_timestamp", "currval", "gen_random_uuid", "lastval", "pg_database_size", "pg_indexes_size",
                "pg_is_in_recovery", "pg_partition_ancestors", "pg_partition_tree", "pg_relation_size", "pg_sleep",
                "pg_table_size", "pg_total_relation_size", "random", "random_normal", "timeofday", "uuidv4", "uuidv7"}  # fmt: skip
    async with postgres_as_admin(postgres) as admin:
        found = await admin.fetch(
            "SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND proname = ANY($1) AND NOT proname = ANY($2)",
            sorted(FUNCTIONS[Engine.POSTGRES]),
            sorted(changing),
        )

    assert found == []


def test_no_listed_function_of_mariadb_is_a_word_that_sets_something(mariadb: RunningServer) -> None:
    """MariaDB marks no function as changing anything; those that would are named here."""
    changing = {"last_insert_id", "load_file", "get_lock", "release_lock", "release_all_locks", "setval", "nextval",
                "master_pos_wait", "master_gtid_wait", "benchmark", "sys_exec", "sys_eval"}  # fmt: skip
    with mariadb_as_admin(mariadb) as root, root.cursor() as cursor:
        cursor.execute("SELECT lower(function) FROM information_schema.sql_functions")
        offered = {str(name) for (name,) in cursor.fetchall()}

    assert changing & offered
    assert not FUNCTIONS[Engine.MARIADB] & changing
