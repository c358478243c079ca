"""The connection to zwave-js-server: it comes back by itself, and nothing that the other side does brings us down."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import ServerConnection

from tests.ports import find_free_port
from tests.zwave.client import Zwave, open_zwave
from tests.zwave.odd_server import describe_network, describe_switch, open_odd_server, refuse, reply, tell
from tests.zwave_house import ZwaveHouse

pytestmark = pytest.mark.anyio


async def obey(link: ServerConnection, request: dict[str, Any]) -> None:
    """A switch that does as it is told."""
    if request["command"] == "node.set_value":
        await reply(link, request, {"result": {"status": 254}})
    else:
        await reply(link, request, {"value": True, "timestamp": 1_700_000_000_000})


async def test_without_a_server_the_tools_say_so_and_the_connection_comes_when_it_does() -> None:
    port = find_free_port()
    async with open_zwave(f"ws://127.0.0.1:{port}") as zwave:
        failure = await zwave.fail("devices")
        health = await zwave.get("health")
        async with open_odd_server(obey, port=port):
            await zwave.wait_until(zwave.is_connected)
            devices = await zwave.get("devices")

    assert failure["error_type"] == "not_connected"
    assert f"127.0.0.1:{port}" in failure["error"]
    assert (health["healthy"], health["connection"]["state"]) == (False, "disconnected")
    assert health["connection"]["failed_attempts"] >= 1
    assert [device["name"] for device in devices] == ["Plug"]


@pytest.mark.xdist_group("zwave")
@pytest.mark.long
async def test_a_server_that_is_restarted_is_found_again_with_all_its_devices(zwave_house: ZwaveHouse) -> None:
    async with open_zwave(zwave_house.url) as zwave:
        assert (await zwave.get("switch", device=2, on=True))["on"]
        await anyio.to_thread.run_sync(zwave_house.stop_server)
        await zwave.wait_until(lambda: _is_lost(zwave))
        lost = await zwave.fail("switch", device=2, on=False)
        await anyio.to_thread.run_sync(zwave_house.start_server)
        await anyio.to_thread.run_sync(zwave_house.wait_until_ready)
        await zwave.wait_until(zwave.is_connected)
        found = await zwave.get("switch", device="kitchen light", on=False)
        devices = await zwave.get("devices")

    assert lost["error_type"] == "not_connected"
    assert found["on"] is False
    assert len(devices) == 14


async def test_a_server_that_goes_in_the_middle_of_a_command_leaves_its_fate_unknown() -> None:
    async def vanish(link: ServerConnection, request: dict[str, Any]) -> None:
        link.transport.abort()

    async with open_odd_server(vanish) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("switch", device="plug", on=True)

    assert failure["error_type"] == "connection_lost"
    assert "it may or may not have been carried out" in failure["error"]


async def test_garbage_is_passed_over_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def babble(link: ServerConnection, request: dict[str, Any]) -> None:
        await link.send("this is no JSON")
        await link.send(b"\xff\x00")
        await link.send("[" * 100_000)
        await link.send("[1, 2]")
        await link.send(json.dumps({"type": "event", "event": {"source": "node"}}))
        await tell(link, source="node", event="value updated", nodeId=2, args={"property": []})
        await tell(link, source="node", event="value updated", nodeId=99, args={})
        await link.send(json.dumps({"type": "result", "success": True, "messageId": "nobody", "result": {}}))
        await link.send(json.dumps({"type": "surprise"}))
        await obey(link, request)

    async with open_odd_server(babble) as url, open_zwave(url) as zwave:
        with caplog.at_level(logging.WARNING, logger="zwave_mcp"):
            switched = await zwave.get("switch", device="plug", on=True)
        connected = await zwave.is_connected()

    assert switched["on"]
    assert connected
    assert "this is no JSON" not in caplog.text  # its place is told, not its text
    assert caplog.text.count("cannot be read") >= 5


async def test_a_driver_that_is_not_ready_is_told_apart() -> None:
    async with open_odd_server(obey, network=describe_network(ready=False)) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("devices")
        health = await zwave.get("health")

    assert failure["error_type"] == "driver_not_ready"
    assert health["problems"] == ["The driver of the controller is not ready."]


async def test_a_server_that_sends_clients_away_until_its_driver_is_ready_gives_its_reason() -> None:
    async def send_away(link: ServerConnection) -> None:
        await link.close(1013, "Driver is not ready")

    async with open_odd_server(obey, greet=send_away) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("devices")

    assert failure["error_type"] == "not_connected"
    assert "Driver is not ready" in failure["error"]


async def test_a_driver_that_starts_anew_is_looked_at_anew() -> None:
    async def restart(link: ServerConnection, request: dict[str, Any]) -> None:
        if request["command"] == "node.ping":
            await tell(link, source="driver", event="driver ready")
        await obey(link, request)

    async with open_odd_server(restart) as url, open_zwave(url) as zwave:
        await zwave.call("ping", device="plug")
        await zwave.wait_until(lambda: _is_lost(zwave))
        await zwave.wait_until(zwave.is_connected)

        assert (await zwave.get("switch", device="plug", on=True))["on"]


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ({"minSchemaVersion": 60, "maxSchemaVersion": 70}, "schema 60 to 70"),
        ({"minSchemaVersion": 0, "maxSchemaVersion": 3}, "schema 0 to 3"),
        ({"type": "something else"}, "not zwave-js-server"),
        ({"maxSchemaVersion": "many"}, "not zwave-js-server"),
    ],
)
async def test_a_server_that_cannot_be_understood_is_named_as_the_reason(version: dict[str, Any], problem: str) -> None:
    async with open_odd_server(obey, version=version) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("devices")

    assert problem in failure["error"]


async def test_what_is_no_websocket_is_named_as_the_reason() -> None:
    async def answer_in_http(stream: anyio.abc.ByteStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await stream.aclose()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer_in_http)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with open_zwave(f"ws://127.0.0.1:{port}") as zwave:
            failure = await zwave.fail("devices")
        tasks.cancel_scope.cancel()

    assert "does not accept WebSocket connections" in failure["error"]


@pytest.mark.parametrize("schema", [15, 28])
async def test_an_older_server_is_spoken_to_in_its_own_words(schema: int) -> None:
    """It answers yes and no instead of a status, and keeps no times."""

    async def answer(link: ServerConnection, request: dict[str, Any]) -> None:
        if request["command"] == "node.get_value_timestamp":
            await refuse(link, request, "unknown_command")
        elif request["command"] == "node.set_value":
            await reply(link, request, {"success": request["value"]})
        else:
            await reply(link, request, {"value": True})

    async with open_odd_server(answer, version={"maxSchemaVersion": schema}) as url, open_zwave(url) as zwave:
        on = await zwave.get("switch", device="plug", on=True)
        refused = await zwave.fail("switch", device="plug", on=False)
        shown = await zwave.get("device", device="plug")
        health = await zwave.get("health")

    assert on["on"]
    assert refused["error_type"] == "command_failed"
    assert {value["updated"] for value in shown["values"]} == {None}
    assert health["connection"]["server"]["schema"] == schema


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 2}, "reported a failure"),
        ({"status": 4, "message": "The CC does not support setting values"}, "does not support setting values"),
        ({"status": 77}, "unknown status 77"),
        (None, "has no status"),
        ("yes", "has no status"),
    ],
)
async def test_each_way_to_fail_is_a_failure(answer: Any, reason: str) -> None:
    async def fail(link: ServerConnection, request: dict[str, Any]) -> None:
        await reply(link, request, {"result": answer})

    async with open_odd_server(fail) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("switch", device="plug", on=True)

    assert failure["error_type"] == "command_failed"
    assert reason in failure["error"]


async def test_a_refusal_of_the_driver_is_passed_on_in_its_words() -> None:
    async def answer(link: ServerConnection, request: dict[str, Any]) -> None:
        await refuse(link, request, "zwave_error", zwaveErrorMessage="Failed to send the command after 3 attempts")

    async with open_odd_server(answer) as url, open_zwave(url) as zwave:
        failure = await zwave.fail("switch", device="plug", on=True)

    assert failure["error"] == '"Plug" was not changed: Failed to send the command after 3 attempts.'


async def test_the_drivers_own_guess_is_no_confirmation() -> None:
    """The driver reports the new value as soon as the command is delivered; the device says otherwise."""

    async def answer(link: ServerConnection, request: dict[str, Any]) -> None:
        if request["command"] == "node.set_value":
            value = {"commandClass": 37, "endpoint": 0, "property": "currentValue", "newValue": True}
            await tell(link, source="node", event="value updated", nodeId=2, args=value)
            await reply(link, request, {"result": {"status": 254}})
        else:
            await reply(link, request, {"value": False})

    async with open_odd_server(answer) as url, open_zwave(url, confirm_within=0.5) as zwave:
        failure = await zwave.fail("switch", device="plug", on=True)

    assert failure["error_type"] == "not_confirmed"


async def test_a_device_that_stays_silent_is_told_with_its_last_known_value() -> None:
    async def answer(link: ServerConnection, request: dict[str, Any]) -> None:
        if request["command"] == "node.set_value":
            await reply(link, request, {"result": {"status": 254}})
        elif request["command"] == "node.poll_value":
            await refuse(link, request, "zwave_error", zwaveErrorMessage="Timeout")

    async with open_odd_server(answer) as url, open_zwave(url, confirm_within=0.5) as zwave:
        failure = await zwave.fail("switch", device="plug", on=True)

    assert failure["error_type"] == "not_confirmed"
    assert "has not answered for 0.5 s; the last known value is false" in failure["error"]


async def test_a_large_network_arrives_whole() -> None:
    nodes = [describe_switch(node, f"Plug {node}", product="x" * 20_000) for node in range(2, 202)]

    async with open_odd_server(obey, network=describe_network(*nodes)) as url, open_zwave(url) as zwave:
        devices = await zwave.get("devices")
        ambiguous = await zwave.fail("switch", device="plug", on=True)

    assert len(devices) == 200
    assert len(ambiguous["error"]) < 5000


async def test_one_odd_node_or_value_hides_no_other() -> None:
    odd = describe_switch(2)
    odd["values"] += [
        {"commandClass": "thirty-seven"},
        5,
        {"commandClass": 49, "property": "x", "metadata": {"states": 7}},
    ]
    network = describe_network(odd, {"nodeId": "three"}, describe_switch(4, "Gate"))

    async with open_odd_server(obey, network=network) as url, open_zwave(url) as zwave:
        devices = await zwave.get("devices")
        switched = await zwave.get("switch", device="plug", on=True)

    assert [device["name"] for device in devices] == ["Plug", "Gate"]
    assert switched["on"]


async def test_names_and_devices_that_change_are_followed() -> None:
    async def answer(link: ServerConnection, request: dict[str, Any]) -> None:
        name = {"commandClass": 119, "endpoint": 0, "property": "name", "newValue": "Fountain"}
        await tell(link, source="node", event="value updated", nodeId=2, args=name)
        await tell(link, source="controller", event="node added", node=describe_switch(3, "Pump"))
        await tell(link, source="controller", event="node removed", node=describe_switch(4, "Gate"))
        await tell(link, source="node", event="dead", nodeId=3)
        await reply(link, request, {"responded": True})

    network = describe_network(describe_switch(2), describe_switch(4, "Gate"))
    async with open_odd_server(answer, network=network) as url, open_zwave(url) as zwave:
        await zwave.get("ping", device="plug")
        devices = await zwave.get("devices")

    assert [(device["name"], device["status"]) for device in devices] == [("Fountain", "alive"), ("Pump", "dead")]


async def test_secret_values_are_not_shown() -> None:
    code = {
        "endpoint": 0,
        "commandClass": 99,
        "property": "userCode",
        "propertyKey": 1,
        "metadata": {"type": "string", "readable": True, "writeable": True, "label": "User Code (1)", "secret": True},
        "value": "8642",
    }
    door = {"nodeId": 2, "name": "Door", "status": 4, "ready": True, "values": [code]}

    async with open_odd_server(obey, network=describe_network(door)) as url, open_zwave(url) as zwave:
        shown = await zwave.get("device", device="door", everything=True)

    assert [value["value"] for value in shown["values"]] == ["***"]


async def _is_lost(zwave: Zwave) -> bool:
    return not await zwave.is_connected()
