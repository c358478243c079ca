"""What operators do to a team's database: dumped and restored, and reached through PgBouncer."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread
import pytest

from ot.store.sealing import new_key
from tests.availability import require_installed
from tests.e2e.raw_server import WAIT
from tests.packs.db.servers import RunningServer
from tests.ports import find_free_port
from tests.postgres import address_of, create_database, fresh_database, run_sql
from tests.team.replicas import FIRST, SECOND, open_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

PROGRAMS = "/usr/lib/postgresql/*/bin"
PGBOUNCER = """
[databases]
{name} = host={host} port={server} dbname={name} user=admin
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 40
ignore_startup_parameters = search_path,statement_timeout,idle_in_transaction_session_timeout
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def dump_and_restore(server: RunningServer, database: str, into: str) -> None:
    """Do what the page says: into a database that is empty."""
    create_database(server, into)
    reach = ["-h", str(server.folder), "-p", str(server.port), "-U", "admin"]
    dump = server.folder / f"{database}.dump"
    pg_dump, pg_restore = (
        str(require_installed(name, package="postgresql", folders=PROGRAMS)) for name in ("pg_dump", "pg_restore")
    )
    subprocess.run([pg_dump, *reach, "-Fc", "-f", str(dump), database], check=True, timeout=WAIT)
    subprocess.run([pg_restore, *reach, "--exit-on-error", "-d", into, str(dump)], check=True, timeout=WAIT)


async def test_people_go_on_with_a_database_that_was_restored(
    postgres: RunningServer, template: str, tmp_path: Path
) -> None:
    address = fresh_database(postgres, template)
    seal = {"seal": {"keys": [new_key()]}}
    async with open_team(tmp_path / "before", address, seal) as team:
        await team.text("ot.keep(name='plan', value=[1, 2])\nnotes.write(title='mine', content='kept')", at=FIRST)
        run = await team.text("ot.runs()[0]['run']", at=FIRST)
        tokens = dict(team.tokens)

    name = urlsplit(address).path.lstrip("/")
    await anyio.to_thread.run_sync(dump_and_restore, postgres, name, f"{name}_restored")
    async with open_team(tmp_path / "after", address_of(postgres, f"{name}_restored"), seal) as team:
        team.tokens = tokens  # the same API key as before
        kept = await team.text("ot.kept(name='plan')", at=SECOND)
        note = await team.text("notes.read(title='mine')['content']", at=FIRST)
        runs = await team.text("[each['run'] for each in ot.runs()]", at=SECOND)
        fresh = await team.text("ot.keep(name='later', value=3)\n'kept'", at=FIRST)

    assert kept == "[1, 2]"
    assert note == "kept"
    assert run in runs
    assert fresh == "kept"


@contextmanager
def pooled(server: RunningServer, name: str, mode: str = "session") -> Iterator[str]:
    """PgBouncer in front of a database, as the page configures it; gives the address to reach it by."""
    program = require_installed("pgbouncer", package="pgbouncer", folders="/usr/sbin")
    port = find_free_port()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(PGBOUNCER.format(name=name, host=server.folder, server=server.port, port=port, mode=mode))
        Path(folder).chmod(0o755)
        user = ["-u", server.folder.owner()] if os.geteuid() == 0 else []  # who may use its socket
        with subprocess.Popen([str(program), "-q", *user, str(settings)], stderr=subprocess.DEVNULL) as process:
            try:
                yield f"postgresql://admin@127.0.0.1:{port}/{name}"
            finally:
                process.terminate()


@pytest.mark.long
async def test_replicas_work_through_pgbouncer_in_session_mode(
    postgres: RunningServer, template: str, tmp_path: Path
) -> None:
    name = urlsplit(fresh_database(postgres, template)).path.lstrip("/")
    for setting in ("search_path = onetool", "statement_timeout = 15000"):
        run_sql(postgres, f"ALTER ROLE admin IN DATABASE {name} SET {setting}")
    with pooled(postgres, name) as address:
        async with open_team(tmp_path, address, {"execution": {"patience": 1}}) as team:
            kept = await team.text("ot.keep(name='plan', value=3)\n'kept'", at=FIRST)
            there = await team.text("ot.kept(name='plan')", at=SECOND)
            told = await team.text("import time\ntime.sleep(4)\n'whole'", at=FIRST)
            run = told.partition("Run ")[2].split()[0]
            waited = await team.last_text(f"ot.wait(run={run!r})", at=SECOND)
            ready = [(await team.get(at, "/readyz")).status_code for at in (FIRST, SECOND)]

    assert (kept, there) == ("kept", "3")
    assert waited.endswith("whole")
    assert ready == [200, 200]
