"""Lists in PostgreSQL read about as many rows as they show, however many a person has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ot.audit.latest import read_latest
from ot.config.models import JournalSettings, ResultSettings
from ot.journal.journal import Journal
from ot.results.store import ResultStore
from ot.store.opening import Store
from ot.store.owner import Owner, shared_project
from ot.store.postgres.audit import rows_of_everybody
from ot.store.postgres.backend import PostgresBackend
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.results import PostgresResults
from ot.text.redaction import Redactor
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.store.conftest import KEPT

pytestmark = pytest.mark.xdist_group("databases")

ROWS = 6000  # of each person
PERSON = "n % 3"
NOW = "extract(epoch FROM now())"
FILL = f"""
INSERT INTO journal_lines (principal, project, run, event, writer, written, lines)
    SELECT 'person ' || {PERSON}, $1, 'r' || n, event, 'w', {NOW} - 40000 + n, convert_to(format(
        '{{"principal":"person %s","project":"","run":"r%s","n":1,"event":"%s","whole":1,"time":%s,"command":"x"}}',
        {PERSON}, n, event, ({NOW} - 40000 + n)::bigint), 'utf8') || '\\x0a'
    FROM generate_series(1, 3 * {ROWS}) AS n, unnest(ARRAY['start', '', '', 'ended']) WITH ORDINALITY AS e(event, place)
    ORDER BY {PERSON} = 0, n, place;
INSERT INTO results SELECT 'person ' || {PERSON}, 'h' || n, '', 10, n, {NOW} + CASE WHEN n < 300 THEN -1 ELSE n END
    FROM generate_series(1, 3 * {ROWS}) AS n;
INSERT INTO audit_lines SELECT 'person ' || {PERSON}, '20260101T000000-1-0000000' || {PERSON} || '.0001.jsonl', n * 10, 'w', n,
    convert_to(line || ',"hash":"' || encode(sha256(convert_to(line || '}}', 'utf8')), 'hex') || '"}}', 'utf8') || '\\x0a'
    FROM generate_series(1, 3 * {ROWS}) AS n, LATERAL (SELECT format(
        '{{"n":%s,"time":%s.000,"event":"refused","tool":"a.b","person":"person %s"', n, n, {PERSON}) AS line) AS each;
"""
READ = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
"""


class Filled:
    """The store of somebody among three people who have very much."""

    def __init__(self, link: PostgresLink, folder: Path) -> None:
        self.link = link
        self.owner = Owner("person 1", folder)
        self.store: Store = PostgresBackend(link).build_store(folder, principal="person 1", journal=KEPT)
        statements = FILL.replace("$1", f"'{shared_project(self.owner)}'")
        link.run_now(lambda connection: connection.execute(statements))
        link.fetch_now("VACUUM ANALYZE")

    def rows_read(self, look: Callable[[], object]) -> int:
        before = self._count()
        look()
        return self._count() - before

    def _count(self) -> int:
        """Count what this one connection has read."""
        self.link.fetch_now("SELECT pg_stat_force_next_flush()")
        [(count,)] = self.link.fetch_now(READ)
        return int(count)


@pytest.fixture(scope="module")
def filled(postgres: RunningServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with closing(PostgresLink(fresh_database(postgres, template), most_connections=1)) as link:
        yield Filled(link, tmp_path_factory.mktemp("filled"))


def test_the_latest_runs_are_found_by_an_index(filled: Filled) -> None:
    settings = JournalSettings.model_construct(keep_for=10**9)
    journal = Journal(filled.store.journal, settings, project=filled.owner.project, redactor=Redactor())

    assert len(journal.recent("person 1", most=100)) == 100
    assert filled.rows_read(lambda: journal.recent("person 1", most=100)) < 1500


def test_the_latest_results_are_found_by_an_index(filled: Filled) -> None:
    assert len(filled.store.results.headers(now=0, most=100)) == 100
    assert filled.rows_read(lambda: filled.store.results.headers(now=0, most=100)) < 1000


def test_a_page_of_the_audit_log_is_found_by_an_index(filled: Filled) -> None:
    first = read_latest([filled.store.audit], most=100)
    assert len(first.calls) == 100
    assert first.older is not None

    second = read_latest([filled.store.audit], most=100, before=first.older)

    assert second.calls[0].time < first.calls[-1].time
    assert filled.rows_read(lambda: read_latest([filled.store.audit], most=100, before=first.older)) < 1500


def test_a_page_of_everybodys_audit_log_is_found_by_an_index(filled: Filled) -> None:
    logs = [rows_of_everybody(filled.link, "")]
    first = read_latest(logs, most=100)

    assert len({call.person for call in first.calls}) == 3
    assert filled.rows_read(lambda: read_latest(logs, most=100, before=first.older)) < 5000


def test_results_that_have_expired_are_found_by_an_index(filled: Filled, tmp_path: Path) -> None:
    results = ResultStore(filled.store.results, ResultSettings(), redactor=Redactor())
    results._keep_value_now("sweeps", frozenset())
    assert not filled.link.fetch_now("SELECT FROM results WHERE principal = 'person 1' AND NOT gone AND expires < 10")

    read = filled.rows_read(lambda: results._keep_value_now("is one more", frozenset()))

    assert read < 500


def test_of_very_many_that_are_too_much_each_new_result_ends_a_batch(filled: Filled, tmp_path: Path) -> None:
    settings = ResultSettings.model_construct(keep_for=3600, max_size=1000)
    results = ResultStore(PostgresResults(filled.link, "person 2", tmp_path), settings, redactor=Redactor())
    count = "SELECT count(*) FROM results WHERE principal = 'person 2' AND NOT gone"

    left = []
    for number in range(3):
        results._keep_value_now(number, frozenset())
        left += [rows for (rows,) in filled.link.fetch_now(count)]

    assert left == [ROWS + 1 - 100 - 500, ROWS + 2 - 100 - 1000, ROWS + 3 - 100 - 1500]  # a hundred had expired
