"""`onetool seal rotate` while replicas serve: phases that they follow, and nobody who loses a secret for a moment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from mcp_core.json_types import JsonObject
from ot.clients.person import KEYS_ISSUER, Person
from ot.config.loader import load_config
from ot.config.personal_secrets import PersonalSecrets
from ot.config.seal_keys import read_keys
from ot.store.opening import build_backend
from ot.store.sealing import Sealer, digest_of_person, key_id, new_key
from tests.e2e.raw_server import WAIT, environment_of
from tests.http_programs import serve_http
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.team.replicas import FIRST, SECOND, Team, open_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

ADA = Person(KEYS_ISSUER, "ada")
DAEMON = 1  # an ordinary user, who is no root


class Keys:
    """The file of the keys, and the command that rotates them."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "seal.keys"
        self.config = folder / "onetool.yaml"
        self._folder = folder

    @property
    def ids(self) -> list[str]:
        return [key_id(key) for key in read_keys(self.file)]

    def rotate(self, *arguments: str, by: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        command = [*by, sys.executable, "-m", "onetool", "--config", str(self.config), "seal", "rotate", *arguments]
        environ = environment_of(self._folder)
        return subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=WAIT, cwd=self._folder, env=environ
        )


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def database(postgres: RunningServer, template: str) -> str:
    return fresh_database(postgres, template)


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    found = Keys(tmp_path)
    found.file.write_text(f"{new_key()}\n")
    found.file.chmod(0o600)
    return found


@pytest.fixture
async def team(tmp_path: Path, database: str, keys: Keys) -> AsyncIterator[Team]:
    with serve_http("plain") as url:
        config = {
            "seal": {"file": str(keys.file)},
            "servers": {"own": {"url": url, "headers": {"X-Key": "${OWN_KEY}"}}},
        }
        keys.config.write_text(json.dumps({"store": database, "auth": {"public_url": "http://team.example"}, **config}))
        async with open_team(tmp_path / "team", database, config) as team:
            yield team


def keep_secret(keys: Keys, home: Path, database: str, value: str) -> None:
    with closing(build_backend(database)) as backend:
        state = home / ".onetool" / "people" / digest_of_person(ADA.principal) / ".onetool" / "state"
        sealer = lambda: Sealer(read_keys(keys.file))  # noqa: E731
        store = backend.build_personal_store(state, principal=ADA.principal, sealer=sealer)
        store.shelf.catch_up()
        PersonalSecrets(store.shelf, ADA.principal, sealer).put("OWN_KEY", value)


@pytest.mark.long
async def test_people_use_their_secrets_at_every_replica_while_a_key_is_replaced(
    team: Team, keys: Keys, database: str, tmp_path: Path
) -> None:
    [old] = keys.ids
    await anyio.to_thread.run_sync(keep_secret, keys, tmp_path, database, "mine")
    ask = "import json\njson.loads(own.headers())['x-key']"
    answers: list[str] = []
    done: list[subprocess.CompletedProcess[str]] = []

    async def rotate() -> None:
        done.append(await anyio.to_thread.run_sync(keys.rotate))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(rotate)
        while not done:
            answers += [await team.text(ask, at=at) for at in (FIRST, SECOND)]
    answers += [await team.text(ask, at=at) for at in (FIRST, SECOND)]

    assert (done[0].returncode, done[0].stderr) == (0, "")
    assert "browsers that are logged in" in done[0].stdout
    assert "1 encrypted again" in done[0].stdout
    assert set(answers) == {"mine"}
    assert keys.ids[1:] == [old]

    long_ago = time.time() - 7200
    os.utime(keys.file, (long_ago, long_ago))
    finished = await anyio.to_thread.run_sync(keys.rotate)
    assert f"{old} any more: it is dropped" in finished.stdout
    assert len(keys.ids) == 1
    assert old not in keys.ids
    assert {await team.text(ask, at=at) for at in (FIRST, SECOND)} == {"mine"}


async def test_nothing_is_sealed_with_a_key_that_a_replica_does_not_know(
    team: Team, keys: Keys, tmp_path: Path
) -> None:
    [old] = keys.ids
    apart = Keys(tmp_path / "apart")  # as on a machine whose file the replicas do not see
    apart.file.parent.mkdir()
    shutil.copy(keys.file, apart.file)
    settings: JsonObject = json.loads(keys.config.read_text())
    apart.config.write_text(json.dumps({**settings, "seal": {"file": str(apart.file)}}))

    waiting = await anyio.to_thread.run_sync(apart.rotate, "--wait", "1")
    fresh = apart.ids[1]
    shutil.copy(apart.file, keys.file)
    with anyio.fail_after(WAIT):
        while "do not encrypt" not in (known := await anyio.to_thread.run_sync(apart.rotate, "--wait", "3")).stderr:
            pass
    shutil.copy(apart.file, keys.file)
    going_on = await anyio.to_thread.run_sync(apart.rotate)

    assert waiting.returncode == known.returncode == 1
    assert all(name in waiting.stderr for name in team.names)
    assert apart.ids == [fresh, old]
    assert going_on.returncode == 0, going_on.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_file_keeps_its_owner_and_mode_whoever_rotates(tmp_path: Path) -> None:
    as_service = ("setpriv", f"--reuid={DAEMON}", f"--regid={DAEMON}", "--clear-groups")
    if subprocess.run([*as_service, sys.executable, "-c", ""], check=False, capture_output=True).returncode:
        pytest.skip(f"only its owner can start the interpreter {sys.executable}")
    folder = Path("/tmp") / f"onetool-{os.getpid()}"  # where another user may enter
    folder.mkdir(mode=0o700)
    try:
        keys = Keys(folder)
        keys.config.write_text(f"seal: {{file: {keys.file}}}\nauth: {{public_url: http://team.example}}\n")
        os.chown(folder, DAEMON, DAEMON)
        made = keys.rotate(by=as_service)
        owners = [(keys.file.stat().st_uid, keys.file.stat().st_mode & 0o777)]
        for by in ((), as_service):
            long_ago = time.time() - 7200
            os.utime(keys.file, (long_ago, long_ago))
            rotated = keys.rotate(by=by)
            assert rotated.returncode == 0, rotated.stderr
            owners.append((keys.file.stat().st_uid, keys.file.stat().st_mode & 0o777))
    finally:
        shutil.rmtree(folder)

    assert made.returncode == 0, made.stderr
    assert owners == [(DAEMON, 0o600)] * 3


def test_the_configuration_that_is_deployed_names_such_a_file(tmp_path: Path) -> None:
    deployed = Path(__file__).parents[2] / "deploy" / "onetool.yaml"
    loaded = load_config(deployed, environ={"DASHBOARD_CLIENT_SECRET": "x" * 20}, cwd=tmp_path, home=tmp_path)

    assert loaded.config.seal.file is not None
