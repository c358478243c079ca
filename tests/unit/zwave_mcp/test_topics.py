"""Topics of zwave-js-ui: whatever a broker carries, each message is taken for what it is or for nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.properties import unhurried
from tests.unit.zwave_mcp.nodes import make_node
from zwave_mcp.backends.topics import (
    TopicIndex,
    clean,
    node_paths,
    parse_topic,
    request_topic,
    value_tails,
)
from zwave_mcp.nodes import Value, ValueId

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="+#\0"), max_size=12)
PARTS = WORDS.filter(lambda word: "/" not in word)
PROPERTIES = st.one_of(st.integers(0, 255), PARTS.filter(bool))


def test_each_kind_of_topic_is_known() -> None:
    assert parse_topic("z/_CLIENTS/ZWAVE_GATEWAY-office/status", "z") == ("gateway", "status", "office")
    assert parse_topic("z/_CLIENTS/ZWAVE_GATEWAY-office/api/getNodes", "z") == ("reply", "getNodes", "office")
    assert parse_topic("z/driver/status", "z") == ("driver", "driver/status", "")
    assert parse_topic("z/Hall/Door/status", "z") == ("device", "Hall/Door/status", "")
    assert parse_topic("a/b/5/37/0/currentValue", "a/b") == ("device", "5/37/0/currentValue", "")


def test_commands_and_events_and_the_topics_of_others_are_no_concern() -> None:
    for topic in ("z/5/37/0/targetValue/set", "z/_EVENTS/ZWAVE_GATEWAY-x/node/ready", "z/_CLIENTS/other/x", "y/5", "z"):
        assert parse_topic(topic, "z") is None


@unhurried
@given(st.lists(PARTS, max_size=8).map("/".join), PARTS)
def test_any_topic_can_be_read(topic: str, prefix: str) -> None:
    read = parse_topic(topic, prefix)

    assert read is None or topic.startswith(f"{prefix}/")


@unhurried
@given(PARTS.filter(bool), PARTS.filter(lambda word: word not in ("", "set")), WORDS.filter(bool))
def test_an_answer_stands_where_its_request_went_without_the_last_word(gateway: str, api: str, prefix: str) -> None:
    topic = request_topic(prefix, gateway, api)

    assert parse_topic(topic, prefix) is None
    assert parse_topic(topic.removesuffix("/set"), prefix) == ("reply", api, gateway)


@unhurried
@given(WORDS, WORDS, st.integers(2, 232), st.sampled_from([0x25, 0x31, 0x43, 0x99]), st.integers(0, 5), PROPERTIES)
def test_a_value_is_found_at_every_topic_that_a_gateway_may_give_it(
    name: str, location: str, number: int, command_class: int, endpoint: int, value_property: str | int
) -> None:
    value = Value(ValueId(number, command_class, endpoint, value_property, 1), 5)
    node = make_node(number, name, location, value)
    index = TopicIndex.build([node])

    for path in node_paths(node):
        for tail in value_tails(value):
            assert index.find_value(f"{path}/{tail}") == value.id
        assert index.find_node(f"{path}/status") == number


def test_a_topic_that_two_devices_share_leads_to_neither() -> None:
    nodes = [make_node(number, "Lamp", "", Value(ValueId(number, 0x25, 0, "currentValue"))) for number in (2, 3)]
    index = TopicIndex.build(nodes)

    assert index.find_value("Lamp/switch_binary/endpoint_0/currentValue") is None
    assert index.find_node("Lamp/status") is None
    assert index.find_value("3/37/0/currentValue") == ValueId(3, 0x25, 0, "currentValue")


def test_names_are_written_as_the_gateway_writes_them() -> None:
    assert clean("Küche Süd 厨房 (alt)!") == "Küche_Süd__alt"
    assert clean("ground floor/hall") == "ground_floor/hall"
