"""A member is put into a JSON text, and everything else of it stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.foreign.json_edit import JsoncError, parse_jsonc, put_member, remove_member
from tests.properties import unhurried

ENTRY: Any = {"command": "onetool"}
PATH = ("mcpServers", "onetool")


def put(text: str) -> str:
    return put_member(text, PATH, ENTRY)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "mcpServers": {\n    "onetool": {\n      "command": "onetool"\n    }\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "onetool": {\n      "command": "onetool"\n    }\n  }\n}'),
        (
            '{\n\t"a": 1\n}\n',
            '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"onetool": {\n\t\t\t"command": "onetool"\n\t\t}\n\t}\n}\n',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {} // mine\n    // the end\n  }\n}',
            (
                '{\n  "mcpServers": {\n    "a": {}, // mine\n    "onetool": {\n      "command": "onetool"\n    }\n'
                "    // the end\n  }\n}"
            ),
        ),
        (
            '{\n  "mcpServers": {\n    "a": {}, /* mine */ // yes\n  },\n}',
            (
                '{\n  "mcpServers": {\n    "a": {}, /* mine */ // yes\n    "onetool": {\n      "command": "onetool"\n'
                "    },\n  },\n}"
            ),
        ),
        ('{"mcpServers": {"a": {}}}', '{"mcpServers": {"a": {}, "onetool": {"command": "onetool"}}}'),
        ('{"mcpServers": {"a": {},}}', '{"mcpServers": {"a": {}, "onetool": {"command": "onetool"},}}'),
        (
            '{\n  "mcpServers": {\n    // none yet\n  }\n}',
            '{\n  "mcpServers": {\n    "onetool": {\n      "command": "onetool"\n    }\n    // none yet\n  }\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "a": 1 }\n}',
            '{\n  "mcpServers": {\n    "a": 1,\n    "onetool": {\n      "command": "onetool"\n    }\n  }\n}',
        ),
        (
            '{\n  "mcpServers": {"onetool": {"command": "old"}} // mine\n}',
            '{\n  "mcpServers": {"onetool": {\n    "command": "onetool"\n  }} // mine\n}',
        ),
    ],
)
def test_the_member_is_put_where_a_person_would_put_it(before: str, after: str) -> None:
    assert put(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {"a": 1, "onetool": 2}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"onetool": 2, "a": 1}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"onetool": 2,}}', '{"mcpServers": {}}'),
        ('{\n  "mcpServers": {\n    "onetool": 2\n  }\n}', '{\n  "mcpServers": {}\n}'),
        (
            '{\n  "mcpServers": {\n    // first\n    "onetool": {\n    }, // ours\n    // second\n    "a": 1 // mine\n  }\n}',
            '{\n  "mcpServers": {\n    // first\n    // second\n    "a": 1 // mine\n  }\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "a": 1, // mine\n    "onetool": 2\n    // the end\n  }\n}',
            '{\n  "mcpServers": {\n    "a": 1 // mine\n    // the end\n  }\n}',
        ),
        ('{\n  "mcpServers": {\n    "a": 1,\n    "onetool": 2,\n  },\n}', '{\n  "mcpServers": {\n    "a": 1,\n  },\n}'),
        ('{"mcpServers": {"onetool": 1, "a": 1, "onetool": 2}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {/* none */ "onetool": 1}}', '{"mcpServers": {/* none */ }}'),
        (
            '{\r\n  "mcpServers": {\r\n    "onetool": 1,\r\n    "a": 2\r\n  }\r\n}',
            '{\r\n  "mcpServers": {\r\n    "a": 2\r\n  }\r\n}',
        ),
        ('{"mcpServers": {"a": 1}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": 3}', '{"mcpServers": 3}'),
        ("", ""),
    ],
)
def test_a_member_is_taken_out_with_its_line(before: str, after: str) -> None:
    assert remove_member(before, PATH) == after


def test_lines_end_as_they_did() -> None:
    after = put_member('{\r\n  "a": 1\r\n}\r\n', PATH, ENTRY, newline="\r\n")

    assert after.count("\n") == after.count("\r\n")
    assert after.startswith('{\r\n  "a": 1,\r\n  "mcpServers": {\r\n')


def test_doing_it_twice_changes_nothing_more() -> None:
    once = put('{\n  // mine\n  "mcpServers": {\n    "a": {},\n  },\n}')

    assert put(once) == once


@pytest.mark.parametrize("text", ["[]", "3", '{"mcpServers": []}', '{"mcpServers": null}', "{", '{"a" 1}', "{a: 1}"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(JsoncError):
        put(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n"a": "\n"}', 2),
        ('{\n"a": 01}', 2),
        ('{"a": 1}\n/* ', 2),
        ("[1 2]", 1),
        ("{\n\n\"a\": 'b'}", 3),
        ("[" * 500, 1),
        ('{"a": "\\q"}', 1),
        ("{} {}", 1),
        ('{"a": 1', 1),
        ("[,]", 1),
    ],
)
def test_a_mistake_names_its_line(text: str, line: int) -> None:
    with pytest.raises(JsoncError) as caught:
        parse_jsonc(text)

    assert caught.value.line == line


def test_comments_and_trailing_commas_are_read_over() -> None:
    node = parse_jsonc('// a\n{"a": [1, /* b */ true,], "b//": "/* c */", "c": {"d": -1.5e3,},}\n')

    assert node is not None
    assert node.value == {"a": [1, True], "b//": "/* c */", "c": {"d": -1500.0}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(st.text() | st.just("mcpServers"), json_values, max_size=4)


@unhurried
@given(objects, st.dictionaries(st.text(), json_values, max_size=3), st.sampled_from([None, 1, 2, "\t"]))
def test_everything_else_keeps_its_value(
    others: dict[str, Any], servers: dict[str, Any], indent: int | str | None
) -> None:
    whole = {**others, "mcpServers": servers}

    for text in (json.dumps(whole, indent=indent), json.dumps({**whole, "last": 1}, indent=indent, ensure_ascii=False)):
        node = parse_jsonc(put(text))

        assert node is not None
        found: Any = node.value
        assert found.pop("mcpServers") == {**servers, "onetool": ENTRY}
        assert {key: value for key, value in found.items() if key != "last"} == {
            key: value for key, value in others.items() if key not in ("mcpServers", "last")
        }


@unhurried
@given(objects, st.dictionaries(st.text(), json_values, min_size=1, max_size=3), st.sampled_from([None, 1, 2, "\t"]))
def test_what_was_put_in_is_taken_out_to_the_letter(
    others: dict[str, Any], servers: dict[str, Any], indent: int | str | None
) -> None:
    servers.pop("onetool", None)
    text = json.dumps({**others, "mcpServers": servers or {"a": 1}}, indent=indent)

    assert remove_member(put(text), PATH) == text
