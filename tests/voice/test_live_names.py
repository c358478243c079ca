"""Names of devices are there before a command is understood, however long their server takes to come."""

from __future__ import annotations

from typing import Any

import anyio

from ot.config.assistant import VoiceSettings
from ot_voice.grammar import Names
from ot_voice.listening import LiveNames
from tests.opened_executor import add_tool, open_executor

SETTINGS = VoiceSettings(names=("Front Door",), names_from=("house.devices", "garden.devices"))


async def devices(arguments: dict[str, Any]) -> list[dict[str, str]]:
    return [{"name": "Attic Fan"}]


async def test_names_are_not_given_before_a_server_that_is_being_connected_has_told_its_own() -> None:
    connected, asked = anyio.Event(), anyio.Event()
    given: list[Names] = []

    async with open_executor() as opened:

        async def connect(text: str) -> None:
            assert text == "house.devices garden.devices"
            asked.set()
            await connected.wait()
            add_tool(opened, "house.devices", devices)

        names = LiveNames(opened.executor, SETTINGS, catch_up=connect)

        async def take() -> None:
            given.append(await names())
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(names.keep_fresh)
            tasks.start_soon(take)
            await asked.wait()
            await anyio.wait_all_tasks_blocked()
            assert not given
            connected.set()

    assert [one.devices for one in given] == [("Front Door", "Attic Fan")]
