"""The page of replicas: what administrators see of the whole team, at whichever replica, and what they do not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest

from mcp_core.json_types import JsonObject
from onetool.replicas.team_state import GoingRun, add_up, quantile, runs_of
from onetool.replicas.vitals import Sample
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import SeenReplica, name_replica
from ot.telemetry.meters import SECONDS
from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, environment_of
from tests.preloaded import run_preloaded
from tests.team.oidc.openid_provider import DASHBOARD_CLIENT, DASHBOARD_SECRET, OpenIdProvider
from tests.team.replicas import FIRST, SECOND, Team, open_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

NONE = [0] * (len(SECONDS) + 1)
SECRET = "plan-of-bob"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def team(
    tmp_path_factory: pytest.TempPathFactory, database: str, openid_provider: OpenIdProvider
) -> AsyncIterator[Team]:
    auth = {"issuer": openid_provider.issuer, "client_id": DASHBOARD_CLIENT, "client_secret": DASHBOARD_SECRET}
    config = {"execution": {"patience": 1}}
    folder = tmp_path_factory.mktemp("team")
    async with open_team(folder, database, config, auth={**auth, "admins": ["ops"]}) as team:
        yield team


class Administrator:
    """A browser of a person, which speaks to one replica at a time."""

    def __init__(self, team: Team, provider: OpenIdProvider, name: str, groups: list[str]) -> None:
        provider.token(name, resource=team.balancer.url, groups=groups)
        url = team.balancer.url.removesuffix("/mcp")
        self.client = httpx2.Client(base_url=url, headers={"Origin": url}, timeout=WAIT)
        self.client.get(provider.login(self.client.get("/login").headers["location"], name))

    async def get(self, path: str) -> httpx2.Response:
        return await anyio.to_thread.run_sync(self.client.get, path)

    async def stop(self, text: str, run: str) -> httpx2.Response:
        """Send the form beside a run."""
        found = re.search(rf'action="(/replicas/runs/{run}/stop)".*?</form>', text, re.DOTALL)
        assert found is not None
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', found[0]))
        fields = {name: unescape(value) for name, value in fields.items()}
        return await anyio.to_thread.run_sync(lambda: self.client.post(found[1], data=fields))


async def test_an_administrator_sees_the_team_at_any_replica_and_stops_a_run_of_the_other(
    team: Team, openid_provider: OpenIdProvider
) -> None:
    olga = await anyio.to_thread.run_sync(Administrator, team, openid_provider, "olga", ["ops"])
    nora = await anyio.to_thread.run_sync(Administrator, team, openid_provider, "nora", [])
    told = await team.text(f"import time\nprint('{SECRET}')\ntime.sleep(600)", at=SECOND, person="bob")
    run = told.partition("Run ")[2].split()[0]
    here = PostgresReplicas(team.link, name_replica("", version="", link="")._replace(name=team.names[SECOND]))
    await here.add_sample(int(time.time() // 60), Sample(0, [5, *NONE[1:]], 2, 1, 3.5, 1000).told())

    async with team.only(FIRST):
        with anyio.fail_after(WAIT):  # until the other one has told of it
            while f"{run}/stop" not in (page := (await olga.get("/replicas?search=bob")).text):
                await anyio.sleep(0.1)
        nobody = (await olga.get("/replicas?search=somebody-else")).text
        refused = await nora.get("/replicas")
        stopped = await olga.stop(page, run)
        waited = await team.text(f"ot.wait(run={run!r})", at=SECOND, person="bob")

    assert all(name in page for name in team.names)
    assert f"this page comes from {team.names[FIRST]}" in page
    assert page.count(">serving<") == 2
    assert "Runs, at most 5; now" in page
    assert SECRET not in page
    assert run not in nobody
    assert refused.status_code == 404
    assert "Replicas" not in (await nora.get("/")).text
    people = (await olga.get("/people")).text
    assert re.search(rf"bob \(onetool\)</strong>.*?at {team.names[SECOND]}</span>", people)
    assert stopped.headers["location"] == "/replicas?done=stopped"
    assert "stopped" in waited


async def test_a_person_in_a_terminal_sees_the_same(team: Team, tmp_path: Path) -> None:
    told = await team.text(f"import time\nprint('{SECRET}')\ntime.sleep(600)", at=FIRST, person="eve")
    run = told.partition("Run ")[2].split()[0]
    home = give_demo(tmp_path, json.dumps(team.config))

    def top() -> str:
        shown = run_preloaded("top", cwd=home, env=environment_of(home))
        assert shown.returncode == 0, shown.stderr
        return shown.stdout

    with anyio.fail_after(WAIT):
        while run not in (shown := await anyio.to_thread.run_sync(top)):
            await anyio.sleep(0.1)
    await team.text(f"ot.stop(run={run!r})", at=FIRST, person="eve")

    assert [line.split()[:2] for line in shown.splitlines()[1:3]] == [[name, "serving"] for name in sorted(team.names)]
    assert "last hour: " in shown
    assert re.search(rf"{run} +eve \(onetool\) +{team.names[FIRST]} ", shown)
    assert SECRET not in shown


async def test_a_page_names_its_replica_to_everybody(team: Team, openid_provider: OpenIdProvider) -> None:
    nora = await anyio.to_thread.run_sync(Administrator, team, openid_provider, "nora", [])
    for at in (FIRST, SECOND):
        async with team.only(at):
            assert f"at {team.names[at]}</p>" in (await nora.get("/")).text


def test_samples_of_all_replicas_are_added_up() -> None:
    one, two = Sample(11, [1, 0, *NONE[2:]], 1, 0, 2.0, 10), Sample(11, [0, 3, *NONE[2:]], 0, 4, 5.0, 20)
    later = Sample(12, NONE, 0, 0, 1.0, 30)

    first, second = add_up([("a", one), ("b", two), ("a", later)], 10, 2)

    assert (first.runs, first.errors, first.refused, first.store_ms, first.memory) == (4, 1, 4, 5.0, 30)
    assert (first.p50, first.p99) == (SECONDS[1], SECONDS[1])
    assert (second.runs, second.p99, second.memory) == (0, 0.0, 30)
    assert quantile([0] * len(SECONDS) + [1], 0.5) == SECONDS[-1]


def test_what_another_version_tells_otherwise_is_left_out(tmp_path: Path) -> None:
    odd = SeenReplica("a-1", "a", "", "0", 0.0, 0.0, False, True, {"runs": [{"run": 1}, "x"], "seal_keys": 3})

    assert runs_of([odd]) == []
    assert odd.seal_keys == []
    assert Sample.read(1, {"buckets": [1]}) is None
    whole: JsonObject = {"run": "r1", "principal": "p", "began": 1, "state": "is attended", "alone": False}
    assert runs_of([odd._replace(status={"runs": [whole]})]) == [GoingRun("r1", "p", 1, "is attended", False, "a")]
