"""Inline script metadata is read by the rules of the reference; what is malformed is no header, and is told."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.workers.pep723 import ScriptHeader, find_blocks, parse_header, read_header

REFERENCE = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")

PLAIN = """\
#!/usr/bin/env python
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "six",  # small
#
#   "packaging>=24",
# ]
# ///
"""


def reference_blocks(text: str) -> list[tuple[str, str]]:
    """What the regular expression of the standard finds."""
    found = []
    for match in REFERENCE.finditer(text):
        lines = match["content"].split("\n")[:-1]
        found.append((match["type"], "".join(f"{line[2:] if line.startswith('# ') else line[1:]}\n" for line in lines)))
    return found


def test_a_header_is_read() -> None:
    header, warning = parse_header(PLAIN)

    assert header is not None
    assert header.requires_python == ">=3.11"
    assert header.dependencies == ("six", "packaging>=24")
    assert warning is None


def test_a_file_without_header_has_neither_header_nor_warning() -> None:
    assert parse_header("import os\n# just a comment\n") == (None, None)


def test_an_empty_header_is_a_header() -> None:
    assert parse_header("# /// script\n#\n# ///\n") == (ScriptHeader(text="\n"), None)


def test_tool_settings_are_kept() -> None:
    header, _ = parse_header('# /// script\n# [tool.uv]\n# exclude-newer = "2024-01-01T00:00:00Z"\n# ///\n')

    assert header is not None
    assert header.tool == {"uv": {"exclude-newer": "2024-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"# /// other\n# nonsense [\n# ///\n\n{PLAIN}", id="another block before it"),
        pytest.param(f"{PLAIN}\n# /// other\n# nonsense [\n# ///\n", id="another block after it"),
        pytest.param(f"{PLAIN}\n# /// script\n# never closed\n", id="an unclosed block after it"),
        pytest.param(f"# /// script-2\n# x\n# ///\n\n{PLAIN}", id="a type that begins alike"),
        pytest.param(PLAIN.rstrip("\n"), id="no line end after it"),
    ],
)
def test_a_header_is_found_among_other_things(text: str) -> None:
    header, warning = parse_header(text)

    assert header is not None
    assert header.dependencies == ("six", "packaging>=24")
    assert warning is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(PLAIN.removesuffix("# ///\n"), "is malformed", id="unclosed"),
        pytest.param(PLAIN.replace("# dependencies", "#dependencies"), "is malformed", id="no space after #"),
        pytest.param(PLAIN.replace("# /// script", "#/// script"), "is malformed", id="no space in the opening"),
        pytest.param(PLAIN.replace("# /// script", "# /// script "), "is malformed", id="space after the opening"),
        pytest.param(PLAIN.replace('#   "six"', '\n#   "six"'), "is malformed", id="an empty line in it"),
        pytest.param(PLAIN.replace("# /// script", "# //// Script"), "is malformed", id="one stroke too many"),
        pytest.param(f"{PLAIN}# [tool.onetool.confine]\n", "outside its script block", id="bounds behind it"),
        pytest.param("# [tool.onetool]\n# confine = {}\n", "outside its script block", id="bounds without a block"),
        pytest.param(f"{PLAIN}\n{PLAIN}", "2 script blocks", id="duplicate"),
        pytest.param("# /// script\n# dependencies = [\n# ///\n", "is not TOML", id="broken TOML"),
        pytest.param("# /// script\n# a = 1\n# a = 2\n# ///\n", "is not TOML", id="a key twice"),
        pytest.param(f"# /// script\n# a = {'[' * 5000}\n# ///\n", "", id="absurd nesting"),
        pytest.param(
            '# /// script\n# dependencies = "six"\n# ///\n', "not a list of strings", id="dependencies as text"
        ),
        pytest.param(
            "# /// script\n# dependencies = [1]\n# ///\n", "not a list of strings", id="dependencies as numbers"
        ),
        pytest.param("# /// script\n# requires-python = 3.11\n# ///\n", "is not a string", id="version as number"),
        pytest.param("# /// script\n# tool = 1\n# ///\n", "is not a table", id="tool as number"),
    ],
)
def test_a_malformed_header_is_none_with_a_warning(text: str, words: str) -> None:
    header, warning = parse_header(text)

    assert header is None
    assert warning is not None
    assert words in warning


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + PLAIN.encode(), id="BOM"),
        pytest.param(PLAIN.replace("# small", "# small\u2028# ///\u2028").encode(), id="U+2028 in a comment"),
    ],
)
def test_a_file_is_read_whatever_wrote_it(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "sample.py"
    file.write_bytes(data)

    header, warning = read_header(file)

    assert warning is None
    assert header is not None
    assert header.dependencies == ("six", "packaging>=24")


def test_u2028_in_a_text_stays_in_it() -> None:
    header, _ = parse_header('# /// script\n# dependencies = ["a\u2028b"]\n# ///\n')

    assert header is not None
    assert header.dependencies == ("a\u2028b",)


def test_a_file_that_is_not_utf8_has_no_header_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_bytes(PLAIN.encode() + b"# \xff\n")

    assert read_header(file) == (None, f"its header cannot be read: the file is not UTF-8 (byte {len(PLAIN) + 2})")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    assert read_header(tmp_path / "absent.py") == (None, "it cannot be read: No such file or directory")


LINES = st.sampled_from(["# /// script", "# /// other", "# ///", "#", "# a = 1", "#b", "", "x = 1", "# ", " # ///"])


@given(st.lists(LINES, max_size=14))
def test_blocks_are_those_of_the_reference(lines: list[str]) -> None:
    text = "\n".join(lines)

    assert list(find_blocks(text)) == reference_blocks(text)


@given(st.text(alphabet="# /script\n\u2028\x85\x0c=a\"'[]", max_size=200))
def test_no_text_at_all_makes_it_raise(text: str) -> None:
    header, warning = parse_header(f"# /// script\n{text}\n# ///\n")

    assert header is None or warning is None


def test_a_header_is_what_tomllib_makes_of_it() -> None:
    header, _ = parse_header(PLAIN)

    assert header is not None
    assert tomllib.loads(header.text)["dependencies"] == list(header.dependencies)


def test_a_hundred_thousand_openings_are_read_in_no_time() -> None:
    text = "# /// script\n" * 100_000

    assert parse_header(text)[0] is None
