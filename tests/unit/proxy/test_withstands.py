"""Servers that misbehave: none of them harms a call that could succeed, nor any other server."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import anyio
import pytest

from ot.errors import ServerUnavailableError, ToolError, ToolTimeoutError, UnsupportedToolError
from ot.registry.registry import ToolRegistry
from tests.proxied import open_proxied, program

pytestmark = pytest.mark.anyio


@pytest.mark.scenario("executor/mcp-client-error-handling/detect-stdout-pollution")
async def test_a_line_that_is_no_message_is_logged_with_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ot"):
        async with open_proxied(tmp_path, {"banner": program("banner")}) as proxied:
            await proxied.call("banner.echo", text="hello")

    logged = [str(record.msg) for record in caplog.records]
    assert any("proxy.not_a_message" in line and "DEBUG about to answer hello" in line for line in logged)


@pytest.mark.scenario("executor/mcp-client-error-handling/continue-operation-after-parse-error")
async def test_reading_goes_on_after_lines_that_are_no_messages(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"banner": program("banner")}) as proxied:
        answers = [await proxied.call("banner.echo", text=str(number)) for number in range(3)]

    assert answers == ["0", "1", "2"]


async def test_an_answer_of_20_mb_arrives_whole(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"large": program("large")}) as proxied:
        with anyio.fail_after(60):
            answer = await proxied.call("large.answer")

    assert len(answer) == 20 * 1024 * 1024


async def test_a_line_of_20_mb_that_is_no_message_is_skipped(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"large": program("large")}) as proxied:
        with anyio.fail_after(60):
            assert await proxied.call("large.garbage") == "0"


async def test_an_argument_of_20_mb_arrives_whole(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"large": program("large")}) as proxied:
        with anyio.fail_after(60):
            assert await proxied.call("large.measure", text="z" * 20 * 1024 * 1024) == str(20 * 1024 * 1024)


async def test_a_server_that_never_answers_is_given_up_and_others_are_not_held_up(tmp_path: Path) -> None:
    servers = {"silent": program("silent", start_timeout=1), "plain": program("plain_server")}

    async with open_proxied(tmp_path, servers) as proxied:
        with anyio.fail_after(60):
            assert await proxied.call("plain.echo", text="here") == "here"
            with pytest.raises(ServerUnavailableError) as caught:
                await proxied.call("silent.anything")

    assert "was not ready after 1 s" in caught.value.reason


async def test_a_server_that_exits_after_each_call_works(tmp_path: Path) -> None:
    registry = ToolRegistry()
    async with open_proxied(tmp_path, {"once": program("exits_after_call")}, registry=registry) as proxied:
        registry.trust_reads({"once": ("*",)})  # one that it might have read before it exited is made again only so
        pids = [await proxied.call("once.echo") for _ in range(4)]

    assert len(set(pids)) == 4


async def test_500_tools_in_pages_are_all_there(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"many": program("many_tools")}) as proxied:
        assert await proxied.call("many.tool_499", n=7) == "tool_499 7"
        assert len(proxied.registry.pack("many").tools) == 500


async def test_pages_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"many": program("many_tools", "circle")}) as proxied:
        with anyio.fail_after(60):
            assert await proxied.call("many.tool_3", n=1) == "tool_3 1"


async def test_odd_schemas_can_be_called(tmp_path: Path) -> None:
    tree = {"name": "a", "children": [{"name": "b", "children": []}]}

    async with open_proxied(tmp_path, {"odd": program("odd_schemas", json_text=True)}) as proxied:
        assert await proxied.call("odd.recursion", root=tree) == {"recursion": {"root": tree}}
        assert await proxied.call("odd.choice", value=3) == {"choice": {"value": 3}}
        assert await proxied.call("odd.nothing") == {"nothing": {}}
        assert await proxied.call("odd.wordy") == {"wordy": {}}
        assert await proxied.call("odd.get_env", **{"from": "x", "x-loc": "y"}) == {
            "get-env": {"from": "x", "x-loc": "y"}
        }


async def test_a_tool_against_the_protocol_is_named_and_the_others_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ot"):
        async with open_proxied(tmp_path, {"odd": program("against_protocol")}) as proxied:
            answers = [await proxied.call("odd.first"), await proxied.call("odd.last")]
            with pytest.raises(UnsupportedToolError) as caught:
                await proxied.call("odd.wrong")
            status = proxied.status("odd")

    assert answers == ["first", "last"]
    assert caught.value.lacks == "describes it against the protocol (inputSchema.type: Input should be 'object')"
    assert (status.tool_count, status.error) == (2, "")
    assert status.refused == {"wrong": "inputSchema.type: Input should be 'object'"}
    assert sum("proxy.item server=odd part=tools" in record.getMessage() for record in caplog.records) == 3


async def test_what_is_no_list_of_tools_is_told_as_that_and_not_as_an_exit(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"odd": program("against_protocol", "none")}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("odd.first")

    assert caught.value.reason == "does not follow the protocol: tools: Input should be a valid list"


async def test_two_servers_with_one_name_are_reported_and_one_of_them_works(tmp_path: Path) -> None:
    servers = {"my-server": program("plain_server"), "my_server": program("plain_server")}

    async with open_proxied(tmp_path, servers) as proxied:
        assert await proxied.call("my_server.echo", text="one") == "one"
        await proxied.servers.probe()
        collisions = proxied.registry.collisions

    assert [(each.name, each.reachable_as, each.intended) for each in collisions] == [("my_server", None, False)]


async def test_a_server_whose_tools_differ_at_each_start_offers_those_of_now(tmp_path: Path) -> None:
    servers = {"changing": program("changing", tmp_path / "counter")}

    async with open_proxied(tmp_path, servers) as proxied:
        await proxied.call("changing.start_0")
    async with open_proxied(tmp_path, servers) as proxied:
        assert "start_0" in proxied.registry.pack("changing").tools, "what it offered the last time"
        await proxied.call("changing.grow")

        assert set(proxied.registry.pack("changing").tools) >= {"grow", "start_1"}
        assert "start_0" not in proxied.registry.pack("changing").tools


async def test_64_calls_at_once_across_8_servers(tmp_path: Path) -> None:
    servers = {f"slow{number}": program("slow", tmp_path / "journal") for number in range(8)}
    answers: list[str] = []

    async with open_proxied(tmp_path, servers) as proxied:

        async def call(number: int) -> None:
            answers.append(await proxied.call(f"slow{number % 8}.wait", seconds=0.5))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(64):
                    tasks.start_soon(call, number)

    assert answers == ["done"] * 64


async def test_a_server_that_does_not_read_holds_up_only_its_own_calls(tmp_path: Path) -> None:
    servers = {"deaf": program("deaf", timeout=1), "plain": program("plain_server")}

    async with open_proxied(tmp_path, servers) as proxied:
        with anyio.fail_after(60):
            for _ in range(2):
                with pytest.raises(ToolTimeoutError):
                    await proxied.call("deaf.echo", text="x" * 3_000_000)
            assert await proxied.call("plain.echo", text="here") == "here"


@pytest.mark.parametrize(
    "command",
    [
        "no-such-program",
        ["sh", "-c", "exec no-such-program --fast"],
        ["bash", "-c", "echo starting >&2; no-such-program --fast"],
        ["env", "no-such-program"],
    ],
    ids=["itself", "by sh", "by bash", "by env"],
)
async def test_a_program_that_is_not_there_is_named_with_the_way_out(tmp_path: Path, command: list[str] | str) -> None:
    program, *args = [command] if isinstance(command, str) else command

    async with open_proxied(tmp_path, {"gone": {"command": program, "args": args}}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("gone.tool")

        assert proxied.status("gone").state == "disconnected"
    way_out = "install it, or give its full path under servers.gone"
    assert caught.value.reason == f"cannot be started: not found: no-such-program; {way_out}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [("#!/no/such/interpreter", "its interpreter was not found"), ("no program", "Exec format error")],
)
async def test_a_program_that_cannot_be_started_is_not_taken_for_one_that_is_not_there(
    tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "server"
    file.write_text(content)
    file.chmod(0o700)

    async with open_proxied(tmp_path, {"broken": {"command": str(file)}}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("broken.tool")

    assert caught.value.reason == "exited with status 126 before it was ready"
    assert f"{file} cannot be started: {reason}" in caught.value.tail


async def test_an_answer_with_is_error_and_a_refusal_are_errors_for_the_caller(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"crashing": program("crashing", tmp_path / "died")}) as proxied:
        with pytest.raises(ToolError, match="no such row"):
            await proxied.call("crashing.fail")
        with pytest.raises(ToolError, match="no method"):
            await proxied.call("crashing.refuse")
        assert await proxied.call("crashing.fine") == "fine"


async def test_a_server_that_dies_in_a_call_says_so_with_its_last_words_and_is_there_again(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"crashing": program("crashing", tmp_path / "died")}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("crashing.die")
        state_then = proxied.status("crashing").state

        assert await proxied.call("crashing.fine") == "fine"
        assert proxied.status("crashing").state == "connected"
    assert state_then == "disconnected"
    assert caught.value.begun
    assert caught.value.reason == "exited with status 3"
    assert "the disk is full" in caught.value.tail


async def test_a_call_that_only_reads_is_made_again_when_its_server_died(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"crashing": program("crashing", tmp_path / "died")}) as proxied:
        assert await proxied.call("crashing.once") == "fine"


async def test_a_call_is_made_again_by_the_persons_word_that_it_only_reads(tmp_path: Path) -> None:
    registry = ToolRegistry()
    died = tmp_path / "died"
    async with open_proxied(tmp_path, {"crashing": program("crashing", died)}, registry=registry) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("crashing.unsaid")
        died.unlink()
        registry.trust_reads({"crashing": ("un*",)})

        assert await proxied.call("crashing.unsaid") == "fine"
    assert caught.value.begun


async def test_a_server_gets_what_it_needs_of_our_environment_and_nothing_else(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SECRET_OF_OURS": "hidden", "LANG": "C.UTF-8"}
    servers = {"shows": program("shows_environment", env={"TOKEN": "its own"}, json_text=True)}

    async with open_proxied(tmp_path, servers, environ=environ) as proxied:
        found = await proxied.call("shows.echo")

    assert found["environ"].items() >= {"HOME": str(tmp_path), "TOKEN": "its own", "LANG": "C.UTF-8"}.items()
    assert not {"SECRET_OF_OURS", "OT_GUARDIAN_LEDGER"} & found["environ"].keys()
    assert found["cwd"] == str(tmp_path)
    assert set(found["descriptors"]) <= {0, 1, 2, 3}, "3 is the listing of the folder itself"
    json.dumps(found)
