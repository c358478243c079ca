"""What a terminal is given of what models and tools write."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from onetool.chat.conversation import word_totals
from onetool.chat.display import PlainDisplay
from onetool.chat.live_display import MarkdownBlocks
from onetool.console.clean_text import clean, escape, one_line, show_call, show_seconds
from ot.ai.failover import Totals
from ot.ai.messages import Event, Finished, Retrying, TextDelta, ToolEnded, ToolStarted, Usage
from tests.properties import unhurried

DOCUMENT = (
    "# Title\n\npara one\npara two\n\n- a\n- b\n\n```py\nx = 1\n\ny = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend"
)


@unhurried
@given(st.text())
def test_nothing_that_acts_on_the_terminal_is_left(text: str) -> None:
    cleaned = clean(text)

    assert not any(ord(char) < 32 and char not in "\n\t" for char in cleaned)
    assert "\x1b" not in cleaned
    assert not any(0x7F <= ord(char) < 0xA0 for char in cleaned)
    cleaned.encode()


def test_what_hides_is_written_out_and_layout_stays() -> None:
    assert clean("a\x1b[2J\u202eb\u3164\r\n") == "a⟨U+001B⟩[2J⟨U+202E⟩b⟨U+3164⟩\n"
    plain = f"| a{' ' * 12}| ⚠️ नमस्ते |\n\n\n\n\n\tb ⟨U+202E⟩"
    assert clean(plain) == plain


@unhurried
@given(st.text())
def test_escaped_json_says_the_same_and_is_clean(text: str) -> None:
    escaped = escape(json.dumps({"a": text}, ensure_ascii=False, indent=2))

    assert json.loads(escaped) == {"a": text}
    assert clean(escaped) == escaped


def test_lines_have_the_width_that_there_is() -> None:
    assert one_line("a\n b\tc", 20) == "a b c"
    assert one_line("x" * 1_000_000, 10) == "xxxxxxxxx…"
    assert show_call("run", {"command": "print('ä')\n" * 50}, 30) == "run(command=\"print('ä')\\nprin…"
    assert [show_seconds(0.0123), show_seconds(12.34)] == ["12 ms", "12.3 s"]


@unhurried
@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=12))
def test_settled_blocks_joined_are_the_document_however_it_arrives(cuts: list[int]) -> None:
    places = sorted(cuts)
    blocks = MarkdownBlocks()
    settled = []

    for start, end in zip([0, *places], [*places, len(DOCUMENT)], strict=True):
        settled.append(blocks.feed(DOCUMENT[start:end]))
    settled.append(blocks.end())

    assert "".join(settled) == DOCUMENT
    # A fence or a table is never cut in two.
    assert all(part.count("```") % 2 == 0 for part in settled)
    assert sum("| a | b |" in part and "| 1 | 2 |" in part for part in settled) == 1


def test_a_pipe_gets_the_words_and_stderr_the_rest() -> None:
    answers, notes = io.StringIO(), io.StringIO()
    display = PlainDisplay(answers, notes)

    events: list[Event] = [
        TextDelta("Let me"),
        TextDelta(" see."),
        ToolStarted("1", "demo.upper", {"text": "x"}),
        ToolEnded("1", "demo.upper", 0.01, True, "X"),
        Retrying("busy", 2.0, withdrawn="X i"),
        TextDelta("X it is"),
        Usage(1, 1),
        Finished("length"),
    ]

    display.begin()
    for event in events:
        display.show(event)
    display.end()

    assert answers.getvalue() == "Let me see.\nX it is\n"
    assert notes.getvalue().splitlines() == [
        '✓ demo.upper(text="x")  10 ms',
        "! busy; asking again in 2.0 s; the answer starts over",
        "The answer reached its token limit (ai.max_tokens).",
    ]


def test_costs_are_words() -> None:
    priced, unknown = Totals(), Totals()
    priced.add(Usage(1000, 50, 0.0125, cache_read_tokens=9000))
    unknown.add(Usage(5, 5))
    unknown.add(Usage(5, 5, 0.5))

    assert word_totals({("anthropic", "claude"): priced, ("ollama", "llama"): unknown}).splitlines() == [
        "anthropic claude: 1 request, 10,000 tokens in, 9,000 from its cache, 50 out; $0.0125",
        "ollama llama: 2 requests, 10 tokens in, 10 out; price unknown (ai.prices)",
    ]
