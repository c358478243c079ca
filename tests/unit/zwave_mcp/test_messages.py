"""Messages from outside: what fits is read, and nothing that arrives raises anything but ValueError."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import unhurried
from tests.unit.zwave_mcp.nodes import make_node, make_switch
from zwave_mcp.backends.backend import read_duration, read_outcome, write_duration
from zwave_mcp.backends.gateway_messages import read_report
from zwave_mcp.backends.server_messages import Event, apply_event
from zwave_mcp.backends.topics import TopicIndex, apply_report
from zwave_mcp.errors import LinkError
from zwave_mcp.network import Controller, Network
from zwave_mcp.nodes import ValueId, read_iso, read_milliseconds

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SOURCES = st.sampled_from(["node", "controller", "driver"])
EVENTS = st.sampled_from(
    [
        "value updated",
        "value removed",
        "metadata updated",
        "ready",
        "statistics updated",
        "node added",
        "status changed",
    ]
)


def make_network() -> Network:
    network = Network("test", "test://")
    network.connected([make_node(2, "Plug", "", *make_switch(2))], Controller(ready=True, node=1), {})
    return network


@unhurried
@given(SOURCES, EVENTS, st.dictionaries(st.sampled_from(["args", "statistics", "status", "node", "nodeState"]), JSON))
def test_no_event_brings_the_model_down(source: str, event: str, more: dict[str, object]) -> None:
    network = make_network()

    try:
        apply_event(network, Event.model_validate({"source": source, "event": event, "nodeId": 2, **more}))
    except (ValueError, LinkError):
        pass

    assert network.devices()


@unhurried
@given(st.one_of(st.binary(max_size=40), JSON.map(lambda value: json.dumps(value).encode())), st.booleans())
def test_no_payload_brings_the_model_down(payload: bytes, retained: bool) -> None:  # noqa: FBT001 - a drawn value
    network = make_network()
    index = TopicIndex.build(network.nodes.values())

    for path in ("Plug/switch_binary/endpoint_0/currentValue", "Plug/status", "Plug/nodeinfo", "Plug/lastActive", "x"):
        try:
            apply_report(network, index, path, payload, retained=retained)
        except ValueError:
            pass

    assert [node.id for node in network.devices()] == [2]


@pytest.mark.parametrize(
    ("payload", "value", "dated"),
    [
        (b"true", True, False),
        (b'{"time": 1700000000000, "value": 21.5}', 21.5, True),
        (b'{"value": 21.5, "nodeName": "x", "nodeLocation": "y"}', 21.5, False),
        (b'{"value": 3, "unit": "seconds"}', {"value": 3, "unit": "seconds"}, False),
        (b'{"nodeId": 2, "commandClass": 37, "property": "currentValue", "value": 1, "lastUpdate": 5}', 1, True),
    ],
)
def test_each_form_of_a_payload_is_told_apart(payload: bytes, value: object, dated: bool) -> None:  # noqa: FBT001
    report = read_report(payload)

    assert report is not None
    assert (report.value, report.updated is not None) == (value, dated)


def test_what_a_broker_kept_does_not_replace_what_is_newer() -> None:
    network = make_network()
    index = TopicIndex.build(network.nodes.values())
    path = "Plug/switch_binary/endpoint_0/currentValue"

    def heard(value: object, stamp: int, *, retained: bool) -> object:
        payload = json.dumps({"time": stamp, "value": value}).encode()
        apply_report(network, index, path, payload, retained=retained)
        return network.nodes[2].values[ValueId(2, 0x25, 0, "currentValue")].value

    assert heard(True, 1_700_000_000_000, retained=False) is True
    assert heard(False, 1_600_000_000_000, retained=True) is True
    assert heard(False, 1_800_000_000_000, retained=True) is False


@unhurried
@given(JSON)
def test_any_answer_to_a_command_is_an_outcome(answer: object) -> None:
    outcome = read_outcome(answer)

    assert isinstance(outcome.refusal, str)
    assert 0 <= read_duration(answer) <= 600_000


def test_durations_are_written_as_drivers_read_them() -> None:
    assert [write_duration(seconds) for seconds in (0, 0.4, 2, 127, 128, 7200)] == [
        "0s",
        "0s",
        "2s",
        "127s",
        "2m",
        "120m",
    ]


@unhurried
@given(st.one_of(JSON, st.integers(), st.floats()))
def test_what_is_no_time_is_none(stamp: object) -> None:
    for read in (read_milliseconds(stamp), read_iso(stamp)):
        assert read is None or read.tzinfo is not None
