"""Calling services: rates, faults, keys that show up in errors, cancellation; shown with the pack brave."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import anyio
import pytest

from tests.raw_http import Answering
from tests.services.brave import PlayedBrave
from tests.services.played import Caller, Rate, Reply, fall_silent, hang_up, open_caller, play, trickle

SEARCH = 'brave.search(query="x", count=1)["results"][0]["url"]'
FOUND = "https://pages.example/x/0"
EIGHT = (
    "found = ot.parallel(*[lambda n=n: brave.search(query=f'q{n}', count=1) for n in range(8)])\n"
    "[item['results'][0]['url'] for item in found]"
)


@pytest.fixture
async def brave() -> AsyncIterator[PlayedBrave]:
    async with play(PlayedBrave()) as service:
        yield service


@pytest.fixture
async def caller(tmp_path: Path, brave: PlayedBrave) -> AsyncIterator[Caller]:
    options = {"base_url": f"{brave.address}/res/v1", "rate": 1000}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": brave.key}) as opened:
        yield opened


@pytest.mark.parametrize(
    "headers",
    [
        lambda _: {},
        lambda left: {"retry-after": f"{left:.3f}"},
        lambda left: {"x-ratelimit-remaining": "0, 1420", "x-ratelimit-reset": f"{left:.3f}, 1419704"},
    ],
    ids=["says nothing", "Retry-After", "counters"],
)
async def test_eight_calls_at_once_all_succeed_on_a_slow_plan(
    caller: Caller, brave: PlayedBrave, headers: object
) -> None:
    assert callable(headers)
    brave.rate = Rate(0.2, headers)
    seen = await caller.run(
        'found = brave.batch(queries=[f"q{n}" for n in range(8)], count=1)\n'
        '[(item["error"], len(item["results"])) for item in found]'
    )

    assert seen == str([[None, 1]] * 8).replace("None", "null")


async def test_eight_calls_of_one_key_wait_for_each_other(tmp_path: Path, brave: PlayedBrave) -> None:
    options = {"base_url": f"{brave.address}/res/v1", "rate": 10}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": brave.key}) as caller:
        began = time.monotonic()
        seen = await caller.run(EIGHT)
        took = time.monotonic() - began

    assert seen.count("https://pages.example/q") == 8
    assert took >= 0.7  # seconds, by which the last begins after the first, however busy the machine is


async def test_a_date_says_when_to_come_back(caller: Caller, brave: PlayedBrave) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    brave.faults = [Reply(429, {}, {"retry-after": soon})]

    assert await caller.run(SEARCH) == FOUND
    assert len(brave.requests) == 2


async def test_a_wait_that_is_longer_than_the_call_ends_it_at_once(caller: Caller, brave: PlayedBrave) -> None:
    brave.faults = [Reply(429, {"error": {"detail": "Monthly quota used up"}}, {"retry-after": "86400"})]
    message = await caller.mistake(SEARCH)

    assert "Brave Search is rate-limited for 86,400 s" in message
    assert "Monthly quota used up" in message
    assert "packs.brave.rate" in message


async def test_a_queue_that_is_longer_than_the_call_ends_it_at_once(tmp_path: Path, brave: PlayedBrave) -> None:
    options = {"base_url": f"{brave.address}/res/v1", "rate": 0.001}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": brave.key}) as caller:
        assert await caller.run(SEARCH) == FOUND

        assert "calls with the same key are queued, at 0.001 a second" in await caller.mistake(SEARCH)


@pytest.mark.parametrize(
    "fault",
    [
        Reply(500, {}),
        Reply(503, "busy", {"retry-after": "0"}),
        Reply(200, '{"web": {"resul', {"content-type": "application/json"}),
        Reply(200, "<html><h1>Just a moment</h1></html>", {"content-type": "text/html"}),
        hang_up,
    ],
    ids=["500", "503", "truncated JSON", "HTML", "broken off"],
)
async def test_what_passes_is_tried_again(caller: Caller, brave: PlayedBrave, fault: Reply | Answering) -> None:
    brave.faults = [fault, fault]

    assert await caller.run(SEARCH) == FOUND
    assert len(brave.requests) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Reply(502, "<html>"), "the service is unavailable (Brave Search answers 502: Bad Gateway)"),
        (Reply(200, '{"web": {'), "Brave Search answered with 9 bytes that are not JSON, or are incomplete"),
        (Reply(200, "<html></html>"), "an HTML page instead of JSON"),
        (Reply(200, "[" * 200_000), "that are not JSON, or are incomplete"),
        (Reply(200, ""), "nothing instead of JSON"),
        (hang_up, "the service is unavailable"),
    ],
    ids=["502", "truncated", "HTML", "nested", "empty", "broken off"],
)
async def test_what_does_not_pass_is_told(
    caller: Caller, brave: PlayedBrave, fault: Reply | Answering, words: str
) -> None:
    brave.faults = [fault] * 4

    assert words in await caller.mistake(SEARCH)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(401, {"message": "who are you"}), "rejected the key in the secret BRAVE_API_KEY (who are you)"),
        (Reply(403, {"error": {"detail": "no"}}), "you can get one at https://api-dashboard.search.brave.com"),
        (Reply(402, {"error": "pay"}), "Brave Search requires payment (pay)"),
        (Reply(422, {"error": {"detail": "bad freshness"}}), "rejected the request with status 422: bad freshness."),
        (Reply(302, "", {"location": "http://127.0.0.1:1/"}), "status 302, a redirect, which is not followed"),
    ],
    ids=["401", "403", "402", "422", "302"],
)
async def test_a_refusal_is_told_once_and_says_what_to_do(
    caller: Caller, brave: PlayedBrave, reply: Reply, words: str
) -> None:
    brave.faults = [reply]

    assert words in await caller.mistake(SEARCH)
    assert len(brave.requests) == 1


async def test_a_key_in_an_error_of_the_service_is_not_shown(caller: Caller, brave: PlayedBrave) -> None:
    brave.faults = [Reply(401, {"error": f"Invalid token {brave.key} given"})]
    message = await caller.mistake(SEARCH)

    assert brave.key not in message
    assert "Invalid token *** given" in message


async def test_a_key_that_brave_does_not_know_is_named_by_its_secret(tmp_path: Path, brave: PlayedBrave) -> None:
    options = {"base_url": f"{brave.address}/res/v1"}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": "another-key"}) as caller:
        message = await caller.mistake(SEARCH)

    assert "rejected the key in the secret BRAVE_API_KEY" in message
    assert "~/.onetool/secrets.yaml" in message


async def test_a_missing_key_is_named_with_the_page_where_one_gets_it(tmp_path: Path, brave: PlayedBrave) -> None:
    async with open_caller(tmp_path, packs={}, secrets={}) as caller:
        message = await caller.mistake(SEARCH)

    assert "the secret BRAVE_API_KEY is not set" in message
    assert "~/.onetool/secrets.yaml" in message
    assert "https://api-dashboard.search.brave.com" in message


async def test_a_key_that_no_header_can_carry_is_not_sent(tmp_path: Path, brave: PlayedBrave) -> None:
    options = {"base_url": f"{brave.address}/res/v1"}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": "a-key\nX-Evil: 1"}) as caller:
        assert "contains white space or non-ASCII characters, and was not sent" in await caller.mistake(SEARCH)

    assert brave.requests == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": "ftp://x"}, "packs.brave.base_url is not an address such as https://"),
        ({"base_url": 7}, "packs.brave.base_url"),
        ({"base_url": "http://x:99999"}, "packs.brave.base_url"),
        ({"rate": 0}, "packs.brave.rate is not a number of requests a second"),
        ({"rate": True}, "packs.brave.rate"),
    ],
    ids=str,
)
async def test_an_option_that_is_wrong_is_named(tmp_path: Path, options: dict[str, str | int], words: str) -> None:
    async with open_caller(tmp_path, packs={"brave": dict(options)}, secrets={"BRAVE_API_KEY": "a-key"}) as caller:
        assert words in await caller.mistake(SEARCH)


@pytest.mark.parametrize("fault", [fall_silent, trickle])
async def test_no_connection_is_open_after_a_cancellation(caller: Caller, brave: PlayedBrave, fault: Answering) -> None:
    brave.faults = [fault]
    arrived = brave.arrived
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller.app.runner.run, SEARCH)
            await arrived.wait()
            closed = brave.closed
            tasks.cancel_scope.cancel()
        if brave.connections:
            await closed.wait()


async def test_a_service_that_trickles_costs_no_more_than_the_time_of_the_call(
    tmp_path: Path, brave: PlayedBrave
) -> None:
    brave.faults = [trickle]
    options = {"base_url": f"{brave.address}/res/v1", "timeout": 1}
    async with open_caller(tmp_path, packs={"brave": options}, secrets={"BRAVE_API_KEY": brave.key}) as caller:
        assert "brave.search took longer than 1 s" in await caller.mistake(SEARCH)
