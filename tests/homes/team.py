"""The database of a team as released versions have left it: `python -m tests.homes.team` keeps one of this version."""

from __future__ import annotations

import lzma
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from ot.config.models import ResultSettings
from ot.results.store import ResultStore
from ot.store.logins import ApiKey
from ot.store.opening import Retention, build_backend
from ot.store.owner import Owner
from ot.store.results import KeptEntry, ResultFiles
from ot.store.sealing import Sealer
from ot.text.redaction import Redactor
from tests.apart import run_apart
from tests.availability import require_installed
from tests.homes import HOMES
from tests.packs.db.servers import RunningServer, run_postgres
from tests.postgres import address_of, create_database

ADA, PROJECT = "ada", Path("/srv/shop")
SEALER = Sealer(["b25ldG9vbC1rZXB0LWhvbWUtb2YtYS10ZWFtLTAwMDA="])
NOW = 1_790_000_000.0
KEPT = Retention(keep_for=86400, max_size=100 * 1024**2, undo_size=1024**2)
LOGIN: JsonObject = {"tokens": {"access_token": "access"}, "expires_at": 4e9}
KEY = ApiKey("k1", "builder", ("dev",), "0" * 64, NOW, NOW + 60)
ENTRY = KeptEntry("k7w2m9x4qd", NOW + 3600)


def main() -> None:
    with run_postgres() as server:
        create_database(server, "team")
        fill(address_of(server, "team"))
        kept = HOMES / f"{VERSION}.sql.xz"
        kept.write_bytes(lzma.compress(dump(server, "team")))
    sys.stdout.write(f"{kept}: {kept.stat().st_size:,} bytes\n")


def fill(address: str) -> None:
    """Do what a team does."""
    with TemporaryDirectory() as name, closing(build_backend(address)) as backend:
        folder = Path(name)
        person = backend.build_personal_store(folder, principal=ADA, sealer=lambda: SEALER)
        run_apart(lambda: person.credentials.write("github", LOGIN))
        person.shelf.write("servers/accepted/a.json", b"accepted")
        backend.build_api_keys(folder).add(KEY)
        store = backend.build_store(folder, principal=ADA, journal=KEPT)
        store.kept_values.put(Owner(ADA, PROJECT), "rows", ENTRY, now=NOW)
        run_apart(lambda: open_results(store.results).keep_value(["a result"]))


def open_results(files: ResultFiles) -> ResultStore:
    return ResultStore(files, ResultSettings(), redactor=Redactor(), clock=lambda: NOW)


def dump(server: RunningServer, database: str) -> bytes:
    words = [
        "--no-owner",
        "--schema=onetool",
        "-h",
        str(server.folder),
        "-p",
        str(server.port),
        "-U",
        "admin",
        database,
    ]
    program = require_installed("pg_dump", package="postgresql-client")
    return subprocess.run([program, *words], check=True, capture_output=True, timeout=60).stdout


def load(server: RunningServer, database: str, kept: Path) -> str:
    """Load what was kept into a database of its own, and return its address."""
    create_database(server, database)
    words = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(server.folder), "-p", str(server.port), "-U", "admin"]
    program = require_installed("psql", package="postgresql-client")
    subprocess.run(
        [program, *words, "-d", database], input=lzma.decompress(kept.read_bytes()), check=True, capture_output=True,
        timeout=60,
    )  # fmt: skip
    return address_of(server, database)


if __name__ == "__main__":
    main()
