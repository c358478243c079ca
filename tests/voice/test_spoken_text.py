"""Answers are spoken sentence by sentence, without what only makes sense to the eye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_voice.answer import LONGEST, Sentences, clean

ANSWER = """\
# Done!

The **kitchen light** is _on_ now. It uses 3.5 W, e.g. less than before. See [the manual](https://example.com/a_(b)).

```python
zwave.switch(device="Kitchen Light", on=True)
```

- First: `zwave.devices`
- Second item

| a | b |
|---|---|
| 1 | 2 |

Visit https://example.com/x?y=1 or www.example.org today"""


def test_an_answer_is_spoken_without_markdown_addresses_and_code() -> None:
    sentences = Sentences()

    assert sentences.add(ANSWER) + sentences.finish() == [
        "Done!",
        "The kitchen light is on now.",
        "It uses 3.5 W, e.g. less than before.",
        "See the manual.",
        "First:",
        "zwave.devices",
        "Second item",
        "a b",
        "1 2",
        "Visit or today",
    ]


def test_sentences_come_as_soon_as_they_are_complete() -> None:
    sentences = Sentences()

    assert sentences.add("The light is") == []
    assert sentences.add(" on. And the") == ["The light is on."]
    assert sentences.add(" door") == []
    assert sentences.finish() == ["And the door"]


@given(st.data())
def test_pieces_do_not_change_what_is_said(data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(ANSWER)), max_size=12)))
    pieces = [ANSWER[start:end] for start, end in zip([0, *cuts], [*cuts, len(ANSWER)], strict=True)]
    whole, parts = Sentences(), Sentences()

    spoken = [sentence for piece in pieces for sentence in parts.add(piece)] + parts.finish()

    assert spoken == whole.add(ANSWER) + whole.finish()


def test_text_without_end_is_said_in_parts() -> None:
    sentences = Sentences()

    spoken = sentences.add("word " * 500) + sentences.finish()

    assert max(map(len, spoken)) <= LONGEST
    assert " ".join(spoken).split() == ["word"] * 500


def test_what_the_model_took_back_is_not_said() -> None:
    sentences = Sentences()
    sentences.add("This was wro")

    sentences.clear()

    assert sentences.add("This is right. ") == ["This is right."]


@pytest.mark.parametrize(
    "nothing", ["", "---", "***", "|---|:--|", "```", "![](https://example.com/a.png)", "🎉✨", "> "]
)
def test_what_has_no_words_is_not_said(nothing: str) -> None:
    assert clean(nothing) == ""


@given(st.text(max_size=300))
def test_whatever_a_model_writes_becomes_plain_words(text: str) -> None:
    sentences = Sentences()

    for sentence in sentences.add(text) + sentences.finish():
        assert "[[" not in sentence
        assert "\n" not in sentence
