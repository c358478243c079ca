"""Handles of views: good for their answer, their client and some time, and nothing else."""

from __future__ import annotations

import pytest

from ot.clients.caller import Caller, ClientMemory
from ot.run.view_handles import Grant, UnknownHandleError, ViewHandles

pytestmark = pytest.mark.anyio

GRANT = Grant("r7k2m9xqd", stored="k7w2m9x4qd", preview=True)
MINE = Caller(client="client", principal="ann")
CONNECTED = Caller(client="client", principal="ann", memory=ClientMemory(1))


def handles(key: bytes = b"key") -> ViewHandles:
    return ViewHandles(lambda: key, kept=60.0, clock=lambda: 0.0)


async def test_a_handle_says_what_it_is_good_for_to_every_replica() -> None:
    handle = await handles().make(GRANT, MINE)

    assert await handles().read(handle, MINE) == GRANT


@pytest.mark.parametrize(
    "caller",
    [Caller(client="client", principal="bob"), Caller(client="other", principal="ann"), CONNECTED],
    ids=["another person", "another client", "a connection"],
)
async def test_nobody_else_can_use_it(caller: Caller) -> None:
    with pytest.raises(UnknownHandleError):
        await handles().read(await handles().make(GRANT, MINE), caller)


async def test_that_of_a_connection_ends_with_its_process() -> None:
    one = handles()
    handle = await one.make(GRANT, CONNECTED)

    assert await one.read(handle, CONNECTED) == GRANT
    with pytest.raises(UnknownHandleError):
        await handles().read(handle, CONNECTED)


async def test_it_ends() -> None:
    handle = await handles().make(GRANT, MINE)

    later = ViewHandles(lambda: b"key", kept=60.0, clock=lambda: 61.0)
    with pytest.raises(UnknownHandleError):
        await later.read(handle, MINE)


@pytest.mark.parametrize(
    "change", [lambda text: f"{text}0", lambda text: f"W{text}", lambda text: text[:-1], lambda _: "", str.upper]
)
async def test_a_changed_one_is_unknown(change: object) -> None:
    assert callable(change)
    handle = await handles().make(GRANT, MINE)

    with pytest.raises(UnknownHandleError):
        await handles().read(change(handle), MINE)
    with pytest.raises(UnknownHandleError):
        await handles(b"another key").read(handle, MINE)
