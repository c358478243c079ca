"""`onetool store migrate`: what it would do, and that it is done once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.raw_server import environment_of
from tests.packs.db.servers import RunningServer
from tests.postgres import address_of, create_database, run_sql
from tests.preloaded import run_preloaded


@pytest.mark.xdist_group("databases")
@pytest.mark.long
def test_a_store_is_migrated_ahead_of_its_servers(postgres: RunningServer, tmp_path: Path) -> None:
    create_database(postgres, "ahead")

    def migrate(*words: str) -> str:
        (tmp_path / "onetool.yaml").write_text(json.dumps({"store": address_of(postgres, "ahead")}))
        command = ("store", "--config", str(tmp_path / "onetool.yaml"), "migrate", *words)
        finished = run_preloaded(*command, cwd=tmp_path, env=environment_of(tmp_path))
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    shown = migrate("--dry-run")
    before = run_sql(postgres, "SELECT to_regnamespace('onetool') IS NULL", database="ahead")
    applied, again = migrate(), migrate()

    assert "001  The one key from which replicas derive those that they have in common." in shown
    assert "would be applied to PostgreSQL" in shown
    assert before == "t"
    assert " applied to PostgreSQL" in applied
    assert "is up to date" in again


def test_a_store_in_files_has_nothing_to_migrate(tmp_path: Path) -> None:
    finished = run_preloaded("store", "migrate", cwd=tmp_path, env=environment_of(tmp_path))

    assert finished.returncode == 1
    assert "only a store in PostgreSQL" in finished.stderr
