"""Logins of people: sealed, never another's, and renewed by one at a time among all replicas."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from mcp_core.json_types import JsonObject
from ot.store.sealing import Sealer, new_key
from tests.store.personal_parts import SEALER, OpenParts, link_of, open_parts

__all__ = ["open_parts"]

pytestmark = pytest.mark.anyio
LOGIN: JsonObject = {"tokens": {"access_token": "access-secret", "refresh_token": "refresh-secret"}, "expires_at": 2e9}


async def test_a_login_is_found_by_whoever_it_belongs_to(open_parts: OpenParts) -> None:
    await open_parts("ada", 1).credentials.write("github", LOGIN)

    found = await open_parts("ada", 2).credentials.read("github")
    assert found is not None
    assert found["tokens"] == LOGIN["tokens"]
    for principal, place in (("ada", "gitlab"), ("bob", "github"), ("ada ", "github"), ("", "github")):
        assert await open_parts(principal).credentials.read(place) == {}


async def test_a_login_that_was_forgotten_is_gone(open_parts: OpenParts) -> None:
    await open_parts("cyd").credentials.write("github", LOGIN)
    await open_parts("cyd").credentials.forget("github")
    await open_parts("cyd").credentials.forget("github")

    assert await open_parts("cyd").credentials.read("github") == {}


async def test_a_login_lies_sealed_and_opens_for_no_other_key(open_parts: OpenParts, tmp_path: Path) -> None:
    store = open_parts("dan")
    await store.credentials.write("github", LOGIN)

    if (link := link_of(store)) is None:
        [kept] = [file.read_text() for file in tmp_path.rglob("*.json")]
    else:
        statement = "SELECT sealed FROM credentials WHERE principal = 'dan'"
        kept = await link.run(lambda connection: connection.fetchval(statement))
    assert "secret" not in kept
    assert SEALER.ids[0] in kept
    assert await open_parts("dan", sealer=Sealer([new_key()])).credentials.read("github") is None


async def test_a_login_that_was_put_in_anothers_place_is_of_no_use_to_them(
    open_parts: OpenParts, tmp_path: Path
) -> None:
    store, thief = open_parts("eve"), open_parts("mallory")
    await store.credentials.write("github", LOGIN)
    await thief.credentials.write("github", {"tokens": None})

    if (link := link_of(store)) is None:
        own, others = sorted(tmp_path.rglob("*.json"), key=lambda file: file.stat().st_size, reverse=True)
        others.write_bytes(own.read_bytes())
    else:
        statement = (
            "UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE principal = 'eve')"
            " WHERE principal = 'mallory'"
        )
        await link.run(lambda connection: connection.execute(statement))

    assert await thief.credentials.read("github") is None


async def test_one_at_a_time_is_alone_with_a_login_and_finds_what_the_last_one_left(open_parts: OpenParts) -> None:
    counts: list[int] = []

    async def renew(replica: int) -> None:
        async with open_parts("fay", replica).credentials.alone("github") as held:
            found = await held.read()
            assert found is not None
            count = found.get("count", 0)
            assert isinstance(count, int)
            await anyio.sleep(0.01)
            await held.write({"count": count + 1})
            counts.append(count)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(renew, number % 2)

    assert counts == list(range(6))


async def test_others_are_not_kept_waiting(open_parts: OpenParts) -> None:
    store = open_parts("gus")
    async with store.credentials.alone("github"):
        with anyio.fail_after(60):
            async with store.credentials.alone("gitlab"), open_parts("hal", 2).credentials.alone("github"):
                await store.credentials.write("sentry", LOGIN)


async def test_what_was_renewed_is_kept_though_nobody_waits_for_it_any_more(open_parts: OpenParts) -> None:
    store = open_parts("ida")
    with anyio.CancelScope() as scope:
        async with store.credentials.alone("github") as held:
            await held.write({"count": 7})
            scope.cancel()
            await anyio.sleep_forever()

    found = await open_parts("ida", 2).credentials.read("github")
    assert found is not None
    assert found["count"] == 7


async def test_whoever_leaves_the_queue_takes_nothing_with_them(open_parts: OpenParts) -> None:
    store, other = open_parts("jo", 1), open_parts("jo", 2)
    async with store.credentials.alone("github") as held:
        with anyio.move_on_after(0.1):
            async with other.credentials.alone("github"):
                pytest.fail("two at once")
        await held.write({"count": 1})
    with anyio.fail_after(60):
        async with other.credentials.alone("github") as held:
            found = await held.read()

    assert found is not None
    assert found["count"] == 1
