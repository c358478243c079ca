"""Replicas that lose the database for a while: what one of them was doing is done once, whoever goes on with it.

The checker knows nothing of our code: a program makes tokens and writes each into a ledger, which is compared with the
tokens that clients were told of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.e2e.raw_server import WAIT
from tests.longer import long_after
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.proxied import program
from tests.services.cable import Cable, lay_cable
from tests.team.replicas import AWAY, FIRST, RUNNING, SECOND, Team, open_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

LINES = "SELECT lines FROM journal_lines WHERE run = $1"
TOKEN = re.compile(r"\b[0-9a-f]{16}\b")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def cable(postgres: RunningServer) -> Iterator[Cable]:
    with lay_cable(postgres) as cable:
        yield cable


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledger") / "tokens"


@pytest.fixture(scope="module")
async def team(
    tmp_path_factory: pytest.TempPathFactory, postgres: RunningServer, template: str, cable: Cable, ledger: Path
) -> AsyncIterator[Team]:
    """Two replicas, of which the first has its own cable to the database."""
    address = fresh_database(postgres, template)
    config = {
        "execution": {"patience": 1},
        "servers": {"mint": program("mints", ledger, confine={"write": [str(ledger.parent)]})},
    }
    stores = [cable.leads_to(address), address]
    async with open_team(tmp_path_factory.mktemp("team"), address, config, stores=stores) as team:
        yield team


def read_ledger(ledger: Path) -> dict[str, list[str]]:
    """Return the tokens that were made, by their names."""
    found: dict[str, list[str]] = {}
    for line in ledger.read_text().splitlines():
        name, token = line.split()
        found.setdefault(name, []).append(token)
    return found


def gated(file: Path) -> str:
    """Code that waits for a file: a run cannot open it, and sees whether it is there."""
    return f"import os, time\nwhile not os.path.exists({str(file)!r}):\n    time.sleep(0.01)\n"


async def detach(team: Team, command: str, *, at: int) -> str:
    text = await team.text(command, at=at)
    found = RUNNING.search(text)
    assert found is not None, text
    return found[1]


async def until_written(team: Team, run: str) -> None:
    """Wait until the journal has how a call of a run has ended: that is written a moment after the call."""
    with anyio.fail_after(WAIT):
        while not any(b'"event":"end"' in row["lines"] for row in await team.link.fetch(LINES, run)):
            await anyio.sleep(0.02)


async def count_takeovers(team: Team) -> int:
    """Return how many runs the second replica has taken over, as operators see it."""
    figures = (await team.get(SECOND, "/metrics")).text
    return int(figures.partition("\nonetool_run_takeovers_total ")[2].split()[0])


async def until_ready(team: Team, number: int) -> None:
    with anyio.fail_after(WAIT):
        while (await team.get(number, "/readyz")).status_code != 200:
            await anyio.sleep(0.05)


@pytest.mark.parametrize("fault", long_after(1, ["cut", "held", "half"]))
async def test_a_run_taken_over_makes_no_effect_when_its_replica_is_back(
    team: Team, cable: Cable, ledger: Path, tmp_path: Path, fault: str
) -> None:
    first, second, go = f"first-{fault}", f"second-{fault}", tmp_path / "go"
    calls = f"a = mint.token(name={first!r})\n", f"b = mint.token(name={second!r})\n(a, b)"
    run = await detach(team, f"{calls[0]}{gated(go)}{calls[1]}", at=FIRST)
    await until_written(team, run)
    if fault == "cut":
        cable.cut()
    else:
        cable.hold(answers_only=fault == "half")
    told = await team.text(f"ot.wait(run={run!r}, seconds=0)", at=SECOND)
    lost = await team.last_text(f"ot.wait(run={run!r}, seconds=0)", at=SECOND)

    before = await count_takeovers(team)
    resumed = await team.last_text(f"ot.resume(run={run!r})\n{''.join(calls)}", at=SECOND)
    counted = await count_takeovers(team) - before
    cable.mend()
    await until_ready(team, FIRST)
    go.touch()
    ended = await team.last_text(f"ot.wait(run={run!r})", at=FIRST)

    assert fault != "cut" or AWAY.search(told)
    assert f"run {run} was lost with the server" in lost
    assert counted == 1
    made = read_ledger(ledger)
    assert TOKEN.findall(resumed)[:2] == [*made[first], *made[second]]
    assert Counter({first: 1, second: 1}) == Counter({name: len(made[name]) for name in (first, second)})
    assert "has taken it over" in ended
