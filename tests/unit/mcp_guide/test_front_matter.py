"""Front matter describes a document, and cannot hurt whoever reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_guide.documents import FrontMatter, find_body, split_front_matter
from mcp_guide.errors import YamlError
from mcp_guide.plain_yaml import MAX_DEPTH, TEXT_LIMIT, read_mapping, write_mapping


def test_front_matter_and_body_are_parted() -> None:
    text = (
        "---\ntitle: Naming\ndescription: How we  name\n  things\ntags: [style, python]\ntemplate: true\n---\n# Body\n"
    )

    front, body = split_front_matter(text)

    assert front == FrontMatter("Naming", "How we name things", ("style", "python"), template=True)
    assert body == "# Body\n"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("# Only a body\n", "# Only a body\n"),
        ("", ""),
        ("---\n", "---\n"),
        ("---\nA rule, then text without an end\n", "---\nA rule, then text without an end\n"),
        ("----\ntitle: x\n---\n", "----\ntitle: x\n---\n"),
        (" ---\ntitle: x\n---\n", " ---\ntitle: x\n---\n"),
        ("---\n---\nbody", "body"),
        ("---\r\ntitle: x\r\n---\r\nbody", "body"),
        ("---  \ntitle: x\n...\nbody", "body"),
        ("---\ntitle: x\n---", ""),
        ("---\ntitle: x\n---\ntitle: y\n---\n", "title: y\n---\n"),
    ],
)
def test_only_a_block_at_the_head_is_front_matter(text: str, body: str) -> None:
    assert split_front_matter(text)[1] == body


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        ("title: 2024", "2024"),
        ("title: 2024-13-45", "2024-13-45"),
        ("title: yes", "yes"),
        ("title: 1e999", "1e999"),
        (f"title: {'9' * 10_000}", "9" * 10_000),
        ("title: !!python/object/apply:os.system [exit 1]", ""),
        ("title: !!timestamp nonsense", "nonsense"),
        ("title: [a, b]", ""),
        ("title:", ""),
    ],
)
def test_a_title_is_text_whatever_it_looks_like(yaml: str, title: str) -> None:
    assert split_front_matter(f"---\n{yaml}\n---\n")[0].title == title


@pytest.mark.parametrize(
    ("tags", "expected"), [("[a, ' b ', '', [c]]", ("a", "b")), ("a, b", ("a", "b")), ("", ()), ("{a: b}", ())]
)
def test_tags_are_a_list_or_have_commas_between_them(tags: str, expected: tuple[str, ...]) -> None:
    assert split_front_matter(f"---\ntags: {tags}\n---\n")[0].tags == expected


LAUGHS = "\n".join(
    [f"a0: &a0 {'lol' * 10}", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
)


@pytest.mark.parametrize(
    ("yaml", "line"),
    [
        (LAUGHS, 3),
        ("title: *nothing", 2),
        ("a: &a [*a]", 2),
        (f"title: {'[' * 5000}{']' * 5000}", 2),
        (f"title: {'{a: ' * 50}1{'}' * 50}", 2),
        ("\n".join("  " * n + "a:" for n in range(50)), None),
        ("title: 'open", None),
        ("x: 1\ntitle: @x", 3),
        ("title: a: b", 2),
        ("- a list", 2),
        ("just text", 2),
        ("title: \x07", 2),
        ("? {a: b}\n: 1", 2),
    ],
    ids=[
        "laughs", "unknown-alias", "self-reference", "deep-lists", "deep-mappings", "deep-blocks", "open-quote", "at-sign",
        "two-colons", "list", "text", "bell", "mapping-as-key",
    ],
)  # fmt: skip
def test_broken_or_hostile_front_matter_is_a_mistake_with_its_line(yaml: str, line: int | None) -> None:
    text = f"---\n{yaml}\n---\nbody"

    with pytest.raises(YamlError) as caught:
        split_front_matter(text)

    assert line is None or caught.value.line == line
    assert find_body(text) == "body"


def test_yaml_is_read_up_to_a_size() -> None:
    with pytest.raises(YamlError, match="longer"):
        read_mapping("a: " + "x" * TEXT_LIMIT)


def test_nesting_up_to_the_limit_is_read() -> None:
    depth = MAX_DEPTH - 1

    assert read_mapping(f"a: {'[' * depth}{']' * depth}")


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text(), max_size=3), max_size=4))
def test_what_is_written_is_read_again(value: dict[str, object]) -> None:
    assert read_mapping(write_mapping(value)) == value


@given(st.text())
def test_any_text_has_a_body_or_a_mistake(text: str) -> None:
    try:
        _, body = split_front_matter(f"---\n{text}\n---\n")
    except YamlError:
        return

    assert body in f"---\n{text}\n---\n"
