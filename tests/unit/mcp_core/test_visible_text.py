"""What an eye would miss is written out, and what was written can be read back."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core.visible_text import visible
from tests.properties import unhurried

SHOW_NOTHING = "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u180b\ufe00\ufe0f\U000e0100\U000e01ef\U000e0041\U0001d159"
HOSTILE = (
    st.text(st.sampled_from(f"{SHOW_NOTHING}\u202e\u2066\x1b\x00\ud800 \t\n⟨⟩a\u0301\u0336\u00e9×,()U+1")) | st.text()
)


NAMES = {"space": " ", "line break": "\n", "tab": "\t"}
ONE = f"U\\+[0-9A-F]{{4,6}}|(?:{'|'.join(NAMES)})s?"
MARK = re.compile(rf"⟨(?:(\d+) (?:× )?)?\(?((?:{ONE})(?:, (?:{ONE}))*)\)?⟩")


def read_visible(shown: str) -> str:
    """Return the text that `visible` has written."""
    return MARK.sub(lambda mark: int(mark[1] or 1) * "".join(map(read_name, mark[2].split(", "))), shown)


def read_name(name: str) -> str:
    return chr(int(name[2:], 16)) if name.startswith("U+") else NAMES[name.removesuffix("s")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Kb", "a⟨U+001B⟩[2Kb"),
        ("evil\u202etxt.exe", "evil⟨U+202E⟩txt.exe"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("a\u00a0b\u3000", "a⟨U+00A0⟩b⟨U+3000⟩"),
        ("\U000e0041tag", "⟨U+E0041⟩tag"),
        ("WHERE id = 3" + "\n" * 500 + "OR 1=1", "WHERE id = 3⟨500 line breaks⟩OR 1=1"),
        ("x" + "\n \t" * 90 + "y", "x⟨90 × (line break, space, tab)⟩y"),
        (f"a{' ' * 200}b", "a⟨200 spaces⟩b"),
        ("seven       blanks", "seven       blanks"),
        ("äöü 漢字 😀 e\u0301 नमस्ते", "äöü 漢字 😀 e\u0301 नमस्ते"),
        ("\u3164" * 12, "⟨12 × U+3164⟩"),
        ("O\u0336R\u0336", "O⟨U+0336⟩R⟨U+0336⟩"),
        ("=\u0338", "=⟨U+0338⟩"),
        ("⟨200 spaces⟩", "⟨U+27E8⟩200 spaces⟩"),
    ],
    ids=ascii,
)
def test_what_an_eye_would_miss_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_secret_cannot_travel_in_letters_that_show_nothing() -> None:
    carried = "".join(chr(0xE0100 + byte) for byte in b"hunter2")

    assert visible(f"ok{carried}").isprintable()
    assert len(visible(f"ok{carried}")) == len("ok") + 7 * len("⟨U+E0100⟩")


def test_code_keeps_its_lines_and_their_indentation() -> None:
    code = "def f():\n    if x:\n            return 1\n\n\nf()\n\tg()"

    assert visible(code, lines=True) == code
    assert visible(f"a\n{' ' * 300}b", lines=True) == f"a\n{' ' * 40}⟨260 spaces⟩b"


def test_a_difference_keeps_the_indentation_behind_its_signs() -> None:
    difference = f"-{' ' * 12}return 1\n+{' ' * 12}return 2"

    assert visible(difference, lines=True) == difference
    assert visible(f"+{' ' * 300}b", lines=True) == f"+{' ' * 40}⟨260 spaces⟩b"


@unhurried
@given(HOSTILE, st.booleans())
def test_what_is_shown_can_be_read_back(text: str, lines: bool) -> None:  # noqa: FBT001
    shown = visible(text, lines=lines)

    assert read_visible(shown) == text
    assert not set(shown) & set(SHOW_NOTHING)
    assert all(category(each)[0] not in "CZ" or each in (" \t\n" if lines else " ") for each in shown)
