"""Limits of people who share a server: what they are told when something is used up, and who has how much."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mcp_types import CallToolResult

from ot.config.team import TeamLimits
from tests.team.team_server import TeamServer, serve_team, text_of

pytestmark = [pytest.mark.xdist_group("team"), pytest.mark.anyio]

LIMITS = {
    "runs_per_minute": 3,
    "concurrent_runs": 1,
    "groups": {"many": {"runs_per_minute": 10_000, "calls_per_minute": 30}, "free": {"runs_per_minute": None}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    patience = 3  # seconds in which what is quick ends also on a busy machine
    config = {"limits": LIMITS, "execution": {"patience": patience}}
    with serve_team(tmp_path_factory.mktemp("limited"), auth={}, config=config) as found:
        yield found


async def answer(server: TeamServer, key: str, command: str) -> CallToolResult:
    async with server.connect(key) as client:
        return await client.call_tool("run", {"command": command})


async def test_whoever_has_begun_as_many_runs_as_they_may_is_told_when_they_may_again(server: TeamServer) -> None:
    ann, bob = (server.keys("new", "--for", name) for name in ("ann", "bob"))

    answers = [await answer(server, ann, "1 + 1") for _ in range(8)]  # a minute may end meanwhile

    refused = next(each for each in answers if each.is_error)
    assert "You have reached the limit of 3 runs per minute (limits.runs_per_minute)." in text_of(refused)
    assert "Try again in" in text_of(refused)
    assert not (await answer(server, bob, "1 + 1")).is_error


async def test_a_run_that_goes_on_keeps_others_out_until_it_is_stopped(server: TeamServer) -> None:
    key = server.keys("new", "--for", "carl", "--groups", "free")
    detached = text_of(await answer(server, key, "import time; time.sleep(60)"))
    run = next(word for word in detached.replace('"', " ").split() if word.startswith("r") and len(word) == 9)

    refused = await answer(server, key, "1 + 1")
    disguised = await answer(server, key, "ot.runs(9**9)")
    stopped = await answer(server, key, f"ot.stop(run={run!r})")

    assert refused.is_error
    assert "(limits.concurrent_runs)" in text_of(refused)
    assert text_of(disguised) == text_of(refused)
    assert not stopped.is_error
    assert text_of(await answer(server, key, "1 + 1")) == "2"


async def test_calls_that_are_too_many_fail_one_by_one(server: TeamServer) -> None:
    key = server.keys("new", "--for", "dora", "--groups", "many")
    command = """
made, refused = 0, ""
for number in range(70):  # a minute may end meanwhile
    try:
        demo.upper(text="x")
        made += 1
    except TimeoutError as error:
        refused = str(error)
made, refused
"""
    said = text_of(await answer(server, key, command))

    assert (
        "demo.upper was not called: you have reached the limit of 30 calls per minute (limits.calls_per_minute)."
        in said
    )
    assert any(f"{made}" in said for made in (30, 60))


@pytest.mark.parametrize(
    ("groups", "runs", "calls"),
    [
        ((), 3, None),
        (("many",), 10_000, 30),
        (("free",), None, None),
        (("many", "free"), None, 30),
        (("unknown",), 3, None),
    ],
)
def test_each_limit_is_that_of_the_most_generous_group(
    groups: tuple[str, ...], runs: int | None, calls: int | None
) -> None:
    found = TeamLimits.model_validate(LIMITS).of(groups)

    assert (found.runs_per_minute, found.calls_per_minute, found.concurrent_runs) == (runs, calls, 1)
