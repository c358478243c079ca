"""Encrypted connections to a real PostgreSQL and a real MariaDB: whom they trust, and whom they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import yaml

from ot.app import App
from tests.engine import answer_of, open_engine
from tests.packs.db.servers import PASSWORD, RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

ENCRYPTED = {
    "postgres": "SELECT ssl AS yes FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    "mariadb": "SELECT variable_value != '' AS yes FROM information_schema.session_status "
    "WHERE variable_name = 'Ssl_cipher'",
}
POSTGRES = {
    "right": "localhost|sslmode=verify-full&sslrootcert=CA",
    "name_unchecked": "127.0.0.1|sslmode=verify-ca&sslrootcert=CA",
    "unchecked": "localhost|sslmode=require",
    "wrong_name": "127.0.0.1|sslmode=verify-full&sslrootcert=CA",
    "wrong_ca": "localhost|sslmode=verify-full&sslrootcert=OTHER",
    "system_ca": "localhost|sslmode=verify-full",
    "no_ca": "localhost|sslmode=verify-full&sslrootcert=/nowhere.pem",
    "odd": "localhost|sslmode=verify_full",
}
MARIADB = {
    "right": "localhost|ssl-mode=verify_identity&ssl-ca=CA",
    "name_unchecked": "127.0.0.1|ssl-mode=VERIFY_CA&ssl-ca=CA",
    "unchecked": "localhost|ssl-mode=required",
    "wrong_name": "127.0.0.1|ssl-mode=VERIFY_IDENTITY&ssl-ca=CA",
    "wrong_ca": "localhost|ssl-mode=verify_identity&ssl-ca=OTHER",
    "system_ca": "localhost|ssl-mode=verify_identity",
    "no_ca": "localhost|ssl-mode=verify_identity&ssl-ca=/nowhere.pem",
    "odd": "localhost|ssl-mode=verify-full",
}


@pytest.fixture(scope="module")
async def encrypted(
    postgres: RunningServer, mariadb: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    connections = {}
    folder = tmp_path_factory.mktemp("authorities")
    for kind, server, scheme, places, database in (
        ("postgres", postgres, "postgresql", POSTGRES, "postgres"),
        ("mariadb", mariadb, "mysql", MARIADB, "mysql"),
    ):
        for authority in ("ca.pem", "other.pem"):  # a folder that is the server's own is closed to helpers
            (folder / f"{kind}-{authority}").write_bytes((server.folder / authority).read_bytes())
        for name, place in places.items():
            host, _, query = place.partition("|")
            query = query.replace("=CA", f"={folder}/{kind}-ca.pem").replace("=OTHER", f"={folder}/{kind}-other.pem")
            address = f"{scheme}://admin@{host}:{server.port}/{database}?{query}"
            connections[f"{kind}_{name}"] = {"address": address, "password": PASSWORD}
    config = yaml.safe_dump({"packs": {"db": {"connections": connections}}})
    async with open_engine(tmp_path_factory.mktemp("encrypted"), config=config) as app:
        yield app


@pytest.mark.parametrize("server", ENCRYPTED)
@pytest.mark.parametrize("name", ["right", "name_unchecked", "unchecked"])
async def test_a_server_that_is_trusted_is_spoken_to_in_secret(encrypted: App, server: str, name: str) -> None:
    code = f'bool(db.query(connection="{server}_{name}", sql={ENCRYPTED[server]!r})["rows"][0]["yes"])'

    assert await answer_of(encrypted, code) == "True"


@pytest.mark.parametrize("server", ENCRYPTED)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong_name", "IP address mismatch"),
        ("wrong_ca", "certificate verify failed"),
        ("system_ca", "certificate verify failed"),
        ("no_ca", "/nowhere.pem"),
        ("odd", "it is one of"),
    ],
)
async def test_one_that_cannot_be_trusted_gets_no_password(encrypted: App, server: str, name: str, said: str) -> None:
    answer = await encrypted.runner.run(f'db.query(connection="{server}_{name}", sql="SELECT 1")')

    assert answer.is_error
    assert said in answer.text
