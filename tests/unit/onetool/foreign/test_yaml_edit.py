"""Entries are added to a YAML text, and everything else of it stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from onetool.foreign.table_edit import add_entries, remove_entry, write_entries
from ot.config.template import render_template
from ot.errors import ConfigError

FILE = Path("onetool.yaml")
ENTRIES = {"github": {"command": "npx", "args": ["-y", "@scope/server"], "env": {"TOKEN": "${TOKEN}"}}}
WRITTEN = '  github:\n    command: npx\n    args: ["-y", "@scope/server"]\n    env: {TOKEN: "${TOKEN}"}\n'


def add(text: str, entries: dict[str, Any] = ENTRIES) -> str:
    return add_entries(text, "servers", entries, file=FILE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "servers:\n{}"),
        ("# mine\n", "# mine\nservers:\n{}"),
        ("log: {level: info}", "log: {level: info}\nservers:\n{}"),
        ("log:\n  level: info # so\n\n# the end\n", "log:\n  level: info # so\nservers:\n{}\n# the end\n"),
        ("servers:\n", "servers:\n{}"),
        ("servers: # none\n\nlog: {}\n", "servers: # none\n{}\nlog: {}\n"),
        ("servers:\n  # github: later\nlog: {}\n", "servers:\n{}  # github: later\nlog: {}\n"),
        ("servers: null # none\nlog: {}\n", "servers: # none\n{}log: {}\n"),
        ("servers: {}\nlog: {}\n", "servers:\n{}log: {}\n"),
        ("servers:\n  a: {command: x} # mine\n\n# next\nlog: {}\n", "servers:\n  a: {command: x} # mine\n{}\n# next\nlog: {}\n"),
        ("servers:\n  a:\n    command: x", "servers:\n  a:\n    command: x\n{}"),
        ("servers:\n  a: &a {command: x}\n  b: *a\nlog: {}\n", "servers:\n  a: &a {command: x}\n  b: *a\n{}log: {}\n"),
        (
            "servers:\n  a:\n    command: x\n    args:\n      - |\n        # text\nlog: {}\n",
            "servers:\n  a:\n    command: x\n    args:\n      - |\n        # text\n{}log: {}\n",
        ),
    ],
)  # fmt: skip
def test_entries_stand_where_a_person_would_write_them(before: str, after: str) -> None:
    assert add(before) == after.replace("\n{}", f"\n{WRITTEN}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("servers: {a: {command: x}} # mine\n", "servers: {a: {command: x}, b: {command: y}} # mine\n"),
        ("servers: {a: {command: x},}\n", "servers: {a: {command: x},b: {command: y}}\n"),
        ("{log: {level: info}}", "{log: {level: info}, servers: {b: {command: y}}}"),
    ],
)
def test_entries_are_added_to_braces_too(before: str, after: str) -> None:
    assert add(before, {"b": {"command": "y"}}) == after


def test_a_section_that_is_indented_keeps_its_indentation() -> None:
    after = add("servers:\n      a:\n          command: x\n", {"b": {"command": "y"}})

    assert after == "servers:\n      a:\n          command: x\n      b:\n        command: y\n"


def test_lines_end_as_they_did() -> None:
    after = add_entries("log: {}\r\n", "servers", {"b": {"command": "y"}}, file=FILE, newline="\r\n")

    assert after == "log: {}\r\nservers:\r\n  b:\r\n    command: y\r\n"


def test_the_file_that_init_writes_can_be_added_to() -> None:
    template = render_template()

    after = add(template)

    assert after.replace(f"servers:\n{WRITTEN}", "") == template


def test_plain_values_can_be_added_to_the_root() -> None:
    assert add_entries('A: "b"\n', "", {"TOKEN": "a#b: c"}, file=FILE) == 'A: "b"\nTOKEN: "a#b: c"\n'


@pytest.mark.parametrize(
    "text",
    ["[1]", "servers: [1]", "servers: x", "a: {servers: &x {}}\nservers: *x\n", "log: {}\n...\n", "a: [", "a: 1\na: 2"],
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        add(text)


@pytest.mark.parametrize(
    "word", ["yes", "no", "null", "1", "1.5", "0x1f", "~", "", "a: b", "- a", "#", "${A}", "ä\n", "\x85"]
)
def test_every_text_comes_back_as_it_was(word: str) -> None:
    assert yaml.safe_load(write_entries({"a": {word or "x": word, "l": [word]}})) == {
        "a": {word or "x": word, "l": [word]}
    }


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
values = st.dictionaries(names, st.text(max_size=8) | st.lists(st.text(max_size=5), max_size=2), max_size=3)


@given(
    st.dictionaries(names, values, max_size=3),
    st.dictionaries(names, values, min_size=1, max_size=2),
    st.booleans() | st.none(),
    st.booleans(),
)
def test_everything_else_keeps_its_value(
    old: dict[str, Any],
    new: dict[str, Any],
    flow: bool | None,  # noqa: FBT001
    sort: bool,  # noqa: FBT001
) -> None:
    new = {name: value for name, value in new.items() if name not in old} or {"fresh name": {}}
    whole = {"log": {"level": "info"}, "servers": old, "z": 1}
    text = yaml.safe_dump(whole, default_flow_style=flow, sort_keys=sort, allow_unicode=True)
    read = yaml.safe_load(text)  # not always what was written: the library itself mistakes some characters

    assert yaml.safe_load(add(text, new)) == {**read, "servers": {**read["servers"], **new}}


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        ("servers:\n  a: {command: x}\n  b: {command: y}\n", "a", "servers:\n  b: {command: y}\n"),
        ("servers:\n  a:\n    command: x\n\n# log\nlog: {}\n", "a", "servers:\n\n# log\nlog: {}\n"),
        ("servers:\n  # of a\n  a: {command: x}\n  # of b\n  b: {}\n", "a", "servers:\n  # of a\n  # of b\n  b: {}\n"),
        ("servers: {a: {command: x}, b: {}}\n", "a", "servers: {b: {}}\n"),
        ("servers: {a: {command: x}, b: {}}\n", "b", "servers: {a: {command: x}}\n"),
        ("servers: {a: {}}\nlog: {}", "a", "servers: {}\nlog: {}"),
        ('servers:\n  "a": |\n    text\n  b: {}', "a", "servers:\n  b: {}"),
    ],
)
def test_an_entry_is_removed_and_all_else_stays(text: str, name: str, after: str) -> None:
    assert remove_entry(text, "servers", name, file=FILE) == after


def test_an_entry_that_others_refer_to_is_left_to_the_person() -> None:
    with pytest.raises(ConfigError, match="cannot be edited"):
        remove_entry("servers:\n  a: &x {command: y}\n  b: *x\n", "servers", "a", file=FILE)
