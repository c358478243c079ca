"""What is remembered of servers: their definitions, so that nobody waits for them."""

from __future__ import annotations

import stat
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ot.errors import ServerUnavailableError, ToolDeniedError, UnknownToolError
from ot.registry.registry import ToolRegistry
from ot.store.shelf import Shelf
from tests.opened_executor import define
from tests.proxied import open_proxied, program

pytestmark = pytest.mark.anyio


def files_below(folder: Path, part: str) -> list[Path]:
    return sorted((folder / "state" / "servers" / part).glob("*.json"))


async def test_a_known_server_is_not_started_before_its_first_call(tmp_path: Path) -> None:
    servers = {"changing": program("changing", tmp_path / "counter")}
    async with open_proxied(tmp_path, servers) as proxied:
        await proxied.call("changing.start_0")

    async with open_proxied(tmp_path, servers) as proxied:
        names = set(proxied.registry.pack("changing").tools)
        state = proxied.status("changing").state

    assert names == {"grow", "start_0"}
    assert state == "disconnected"
    assert (tmp_path / "counter").read_text() == "1", "it was started once"


async def test_an_unknown_server_is_connected_by_itself(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"plain": program("plain_server")}) as proxied:
        with anyio.fail_after(60):
            while proxied.status("plain").state != "connected":
                await anyio.sleep(0.01)

        assert set(proxied.registry.pack("plain").tools) == {"echo"}


class SlowPins(Shelf):
    """A shelf whose first write of what is accepted takes until it is let go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.writing, self.go_on = threading.Event(), threading.Event()

    def below(self, name: str) -> Shelf:
        return self if name == "servers/accepted" else super().below(name)

    def write(self, name: str, data: bytes, *, replace: bool = True) -> None:
        self.writing.set()
        self.go_on.wait(60)
        super().write(name, data, replace=replace)


@pytest.mark.parametrize("asks", ["run", "listing"])
async def test_a_server_is_there_for_whoever_asks_while_what_it_said_is_written(tmp_path: Path, asks: str) -> None:
    shelf = SlowPins(tmp_path / "state")
    async with open_proxied(tmp_path, {"plain": program("plain_server")}, shelf=shelf) as proxied:
        try:
            assert await anyio.to_thread.run_sync(shelf.writing.wait, 60)
            if asks == "listing":
                await proxied.servers.catch_up_listing(lambda _: True)
            else:
                await proxied.servers.catch_up("plain.echo(text='')")

            assert set(proxied.registry.pack("plain").tools) == {"echo"}
        finally:
            shelf.go_on.set()
        assert await proxied.call("plain.echo", text="x") == "x"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"form": 1}', b'{"form": 1, "tools": [1]}', b"\xff\xfe", b"[" * 5000]
)
async def test_a_damaged_memory_is_ignored_and_made_anew(tmp_path: Path, damage: bytes) -> None:
    servers = {"plain": program("plain_server")}
    async with open_proxied(tmp_path, servers) as proxied:
        await proxied.call("plain.echo", text="x")
    (file,) = files_below(tmp_path, "definitions")
    file.write_bytes(damage)

    async with open_proxied(tmp_path, servers) as proxied:
        assert proxied.registry.pack("plain").tools == {}
        assert await proxied.call("plain.echo", text="again") == "again"

    assert len(file.read_bytes()) > 100


async def test_another_configuration_is_another_memory_and_secrets_are_not_in_it(tmp_path: Path) -> None:
    for token in ("hunter2-hunter2", "swordfish-9"):
        async with open_proxied(tmp_path, {"plain": program("plain_server", env={"TOKEN": token})}) as proxied:
            await proxied.call("plain.echo", text="x")

    below = [*files_below(tmp_path, "definitions"), *files_below(tmp_path, "accepted")]
    files = [file for file in below if not file.name.endswith(".prompts.json")]
    assert len(files) == 4, "tools and words are accepted once, whatever the token"
    assert not any(b"hunter2" in file.read_bytes() or "hunter2" in file.name for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_a_change_while_it_runs_is_seen(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"changing": program("changing", tmp_path / "counter")}) as proxied:
        await proxied.call("changing.grow")
        with anyio.fail_after(60):
            while "grown_0" not in proxied.registry.pack("changing").tools:
                await anyio.sleep(0.01)

        assert await proxied.call("changing.grown_0") == "grown_0 in start 0"


async def test_filters_decide_which_tools_there_are(tmp_path: Path) -> None:
    filters = {"allow": ["tool_1*"], "deny": ["tool_1?"]}

    async with open_proxied(tmp_path, {"many": program("many_tools", tools=filters)}) as proxied:
        await proxied.call("many.tool_1")
        with pytest.raises(UnknownToolError):
            await proxied.call("many.tool_10")

        assert len(proxied.registry.pack("many").tools) == 101


# -- names


def registry_with(*packs: str) -> ToolRegistry:
    async def call(arguments: dict[str, Any]) -> Any:
        return "built in"

    registry = ToolRegistry()
    for pack in packs:
        registry.register(define(f"{pack}.echo"), call)
    return registry


async def test_a_built_in_pack_gives_way_and_stays_reachable(tmp_path: Path) -> None:
    registry = registry_with("web")

    async with open_proxied(tmp_path, {"web": program("plain_server")}, registry=registry) as proxied:
        with anyio.fail_after(60):
            while proxied.status("web").state != "connected":
                await anyio.sleep(0.01)

        assert await proxied.call("web.echo", text="proxied") == "proxied"
        assert await proxied.call("web_builtin.echo") == "built in"
        assert [each.name for each in registry.collisions] == ["web"]


async def test_a_server_with_a_name_of_pythons_own_is_reached_with_an_underscore(tmp_path: Path) -> None:
    async with open_proxied(
        tmp_path, {"time": program("plain_server")}, policy={"deny": ["time.forbidden"]}
    ) as proxied:
        await proxied.servers.probe(20)

        assert await proxied.call("time_.echo", text="here") == "here"
        assert proxied.status("time").pack == "time_"


async def test_what_policy_says_of_a_name_that_was_given_up_holds(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"time": program("plain_server")}, policy={"deny": ["time.*"]}) as proxied:
        await proxied.servers.probe(20)

        with pytest.raises(ToolDeniedError):
            await proxied.call("time_.echo", text="here")


async def test_the_tools_of_a_server_that_is_not_there_are_explained(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"silent": program("silent", start_timeout=0.5)}) as proxied:
        await proxied.servers.probe(20)

        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("silent.tool")
    assert caught.value.server == "silent"
