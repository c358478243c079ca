"""Answers of servers become values, whatever the servers send."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core import Result
from ot.errors import ToolError
from ot.proxy.calls import ResultForm, read_result, result_form
from ot_kernel.values import Audio, Image, Resource

PLAIN = ResultForm()
PNG = base64.b64encode(b"\x89PNG").decode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([], None),
        ([text("hello")], "hello"),
        ([text('{"a": 1}')], '{"a": 1}'),
        ([text("a"), text("b")], ["a", "b"]),
        ([{"type": "image", "data": PNG, "mimeType": "image/jpeg"}], Image(b"\x89PNG", "image/jpeg")),
        ([{"type": "image", "data": f"{PNG[:4]}\r\n{PNG[4:]}"}], Image(b"\x89PNG", "image/png")),
        ([{"type": "audio", "data": PNG, "mimeType": "audio/mp3"}], Audio(b"\x89PNG", "audio/mp3")),
        (
            [text("look"), {"type": "image", "data": PNG, "mimeType": "image/png"}],
            ["look", Image(b"\x89PNG", "image/png")],
        ),
    ],
)
def test_blocks_become_values(content: list[Any], expected: Any) -> None:
    assert read_result({"content": content}, PLAIN) == expected


def test_resources_come_with_what_they_hold() -> None:
    inner: Any = {"uri": "file:///a.txt", "text": "hello", "mimeType": "text/plain"}
    blob: Any = {"uri": "file:///a.bin", "blob": PNG}
    link: Any = {"type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/plain"}

    result: Any = read_result(
        {"content": [{"type": "resource", "resource": inner}, {"type": "resource", "resource": blob}, link]}
    )

    assert isinstance(result, list)
    found = [(item.uri, item.text, item.data, item.mime_type, item.name) for item in result]
    assert found == [
        ("file:///a.txt", "hello", None, "text/plain", None),
        ("file:///a.bin", None, b"\x89PNG", None, None),
        ("file:///b", None, None, "text/plain", "b"),
    ]


def test_structured_content_is_the_value_and_its_text_is_not_repeated() -> None:
    result: Any = {"structuredContent": {"a": [1]}, "content": [text('{"a": [1]}')]}

    assert read_result(result, PLAIN) == {"a": [1]}


def test_what_is_not_text_is_kept_beside_structured_content() -> None:
    result: Any = {"structuredContent": {"a": 1}, "content": [text("a"), {"type": "image", "data": PNG}]}

    assert read_result(result, PLAIN) == [{"a": 1}, Image(b"\x89PNG", "image/png")]


WRAPPED = {
    "title": "addOutput",
    "type": "object",
    "properties": {"result": {"type": "integer"}},
    "required": ["result"],
}
OWN = {"title": "Sum", "type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [(WRAPPED, 3), ({"x-fastmcp-wrap-result": True}, 3), (OWN, {"result": 3}), (None, {"result": 3})],
    ids=["by its title", "by its mark", "a field of that name", "no schema"],
)
def test_a_value_that_a_library_wrapped_is_unwrapped(schema: Any, expected: Any) -> None:
    form = result_form({"name": "add", "outputSchema": schema})

    assert read_result({"structuredContent": {"result": 3}, "content": [text("3")]}, form) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (result_form({"name": "a"}), ["[1, 2]", "plain"]),
        (result_form({"name": "a"}, json_text=True), [[1, 2], "plain"]),
        (result_form({"name": "a", "outputSchema": {"type": "object"}}), [[1, 2], "plain"]),
    ],
    ids=["by default", "by the setting", "by the schema"],
)
def test_text_is_read_as_json_where_somebody_says_that_it_is(form: ResultForm, expected: Any) -> None:
    assert read_result({"content": [text("[1, 2]"), text("plain")]}, form) == expected


@pytest.mark.parametrize("broken", ["{", "[1,", "nothing", "[" * 100_000, "1e", "-", '"'])
def test_text_that_only_looks_like_json_stays_text(broken: str) -> None:
    assert read_result({"content": [text(broken)]}, ResultForm(json_text=True)) == broken


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"content": [text(" no such file "), text("a.txt")]}, "no such file\na.txt"),
        ({"content": [], "structuredContent": {"code": 7}}, '{"code": 7}'),
        ({"content": [{"type": "image", "data": PNG}]}, "the tool reported an error without saying why"),
        ({}, "the tool reported an error without saying why"),
        ({"content": [{"type": "text"}, text("it")]}, "it"),
    ],
)
def test_a_failed_call_is_an_error_with_its_text(result: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_result({**result, "isError": True}, PLAIN)

    assert caught.value.message == message


def test_a_failure_of_our_own_servers_is_told_in_words() -> None:
    plain: Any = Result.failure("the lamp did not answer", "no_answer", instruction="Check its plug.").to_mcp()

    with pytest.raises(ToolError, match=r"^the lamp did not answer\nCheck its plug\.$"):
        read_result(plain, PLAIN)


def test_an_error_without_end_is_cut() -> None:
    with pytest.raises(ToolError) as caught:
        read_result({"content": [text("x" * 1_000_000)], "isError": True}, PLAIN)

    assert len(caught.value.message) < 21_000


MALFORMED = [
    {"type": "image"},
    {"type": "image", "data": "not base64!", "mimeType": "image/png"},
    {"type": "image", "data": 3},
    {"type": "audio", "data": "abc"},
    {"type": "text"},
    {"type": "text", "text": ["a"]},
    {"type": "resource"},
    {"type": "resource", "resource": []},
    {"type": "resource", "resource": {"text": "without an address"}},
    {"type": "resource", "resource": {"uri": "a:b", "blob": {}}},
    {"type": "resource_link"},
    {"type": "hologram", "data": 1},
    {"type": ["text"]},
    {},
]


@pytest.mark.parametrize("block", MALFORMED, ids=str)
def test_a_block_that_is_not_what_it_says_stays_as_it_came(block: dict[str, Any]) -> None:
    assert read_result({"content": [block]}, PLAIN) == block


@pytest.mark.parametrize("result", [None, [], "text", 3])
def test_an_answer_that_is_no_result_is_an_error(result: Any) -> None:
    with pytest.raises(ToolError, match="not a result"):
        read_result(result, PLAIN)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "data", "uri", "resource", "blob", "content", "structuredContent", "isError"]
            ),
            inner | st.sampled_from(["text", "image", "audio", "resource", "resource_link"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, st.booleans(), st.booleans())
def test_nothing_that_a_server_sends_makes_it_fail(result: Any, wrapped: bool, json_text: bool) -> None:  # noqa: FBT001
    try:
        read_result(result, ResultForm(wrapped=wrapped, json_text=json_text))
    except ToolError:
        pass


def test_an_unhashable_kind_and_large_data_are_no_trouble() -> None:
    data = base64.b64encode(bytes(5_000_000)).decode()

    image = read_result({"content": [{"type": "image", "data": data}]}, PLAIN)

    assert isinstance(image, Image)
    assert len(image.data) == 5_000_000


def test_a_resource_keeps_its_title_where_it_has_no_name() -> None:
    link = read_result({"content": [{"type": "resource_link", "uri": "a:b", "title": "B"}]}, PLAIN)

    assert isinstance(link, Resource)
    assert link.name == "B"
