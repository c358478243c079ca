"""Names and texts as spoken words, the grammar that is made of them, and how they are pronounced."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ot_voice.command_paths import CommandPaths
from ot_voice.engines.pocketsphinx import pronounce, to_arpabet, without_r
from ot_voice.grammar import (
    MOST_NAMES,
    find_missing,
    read_answer,
    render_grammar,
    say_number,
    spoken_form,
    spoken_names,
)
from ot_voice.listening import find_names
from ot_voice.recognisers import restore_names


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Kitchen Light", "kitchen light"),
        ("bedroomLamp_2", "bedroom lamp two"),
        ("Süd 厨房", "sud"),
        ("Set it to 21°, then 50%!", "set it to twenty one degrees then fifty percent"),
        ("thirty per cent", "thirty percent"),
        ("twenty-one", "twenty one"),
        ("what’s on", "what's on"),
        ("zwave.list_devices", "zwave list devices"),
        ("<command> = (a | b); */", "command a b"),
        ("", ""),
    ],
)
def test_texts_become_the_words_that_are_said(written: str, spoken: str) -> None:
    assert spoken_form(written) == spoken


@given(st.text(max_size=80))
@example("᱐")
def test_whatever_a_name_is_nothing_in_it_is_syntax(name: str) -> None:
    assert set(spoken_form(name)) <= set("abcdefghijklmnopqrstuvwxyz' ")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety nine"),
        (305, "three hundred five"),
        (2026, "two zero two six"),
    ],
)
def test_numbers_are_said(number: int, words: str) -> None:
    assert say_number(number) == words


def test_names_that_sound_alike_are_one_and_odd_ones_are_left_out() -> None:
    assert spoken_names(["Lamp", "LAMP!", "", "厨房", "a b c d e f g"]) == {"lamp": "Lamp"}
    assert len(spoken_names(f"device {n}" for n in range(5000))) == MOST_NAMES


def test_a_grammar_without_names_still_knows_yes_and_no() -> None:
    assert "<device>" not in render_grammar([], [])
    assert "yes | no" in render_grammar([], [])


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("turn on the front door", True),
        ("please set garage door to twenty one point five degrees", True),
        ("turn on", False),
        ("turn on the front", False),
        ("set the garage door to", False),
        ("run the web search tool please", True),
    ],
)
def test_the_beginning_of_a_command_is_not_a_command(text: str, *, whole: bool) -> None:
    sentences = CommandPaths(render_grammar(["front door", "garage door"], ["web search"]))

    assert sentences.accepts(text) is whole


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Turn on.", "Turn on what? Please say it again with the device."),
        ("please unlock the", "Unlock what? Please say it again with the device."),
        ("Turn on the radio", ""),
        ("open a file", ""),
    ],
)
def test_a_command_without_its_device_is_asked_about(text: str, question: str) -> None:
    assert find_missing(text) == question


def test_only_a_whole_yes_is_one() -> None:
    heard = ["Yes.", "yes, please", "Go ahead!", "No", "no thank you", "yes or no", "yesterday", ""]

    assert [read_answer(text) for text in heard] == [True, True, True, False, False, None, None, None]


def test_words_are_known_as_they_are_said_in_england_too() -> None:
    assert without_r("G AA R D AH N") == "G AA D AH N"
    assert without_r("T ER N") == "T AH N"
    assert without_r("F R AH N T") == "F R AH N T"


def test_names_come_back_as_their_owners_write_them() -> None:
    names = {"lamp": "Lamp", "bedroom lamp": "Bedroom Lamp"}

    assert restore_names("dim the bedroom lamp to thirty percent", names) == "dim the Bedroom Lamp to thirty percent"
    assert restore_names("turn on the clamp", names) == "turn on the clamp"
    assert restore_names("turn lamp on", names) == "turn the Lamp on"
    assert restore_names("turn on the lamp", names) == "turn on the Lamp"


def test_names_are_found_in_what_tools_give() -> None:
    devices = [
        {"name": "Lamp", "location": "Attic"},
        {"name": "Attic Fan", "location": "Attic"},
        {"name": 7},
        "Door",
        None,
    ]

    assert list(dict.fromkeys(find_names({"success": True, "value": devices}))) == [
        "Lamp",
        "Attic",
        "Attic Lamp",
        "Attic Fan",
        "Door",
    ]
    assert list(find_names("text")) == list(find_names(7)) == []


def test_words_that_no_dictionary_has_are_pronounced() -> None:
    said = pronounce(["multisensor", "wohnzimmer"])

    assert said["multisensor"].split()[:3] == ["M", "AH", "L"]
    assert said["wohnzimmer"].startswith("W OW N")


def test_without_espeak_nothing_is_pronounced() -> None:
    assert pronounce(["multisensor"], program="no-such-program") == {}


def test_signs_without_sound_are_left_out() -> None:
    assert to_arpabet("ˈdʒʌdʒː ?") == "JH AH JH"


@pytest.mark.parametrize(
    ("sentence", "whole"),
    [
        ("turn on the kitchen light", True),
        ("please lock front door", True),
        ("set the front door to 21%", True),
        ("what's the temperature in the kitchen light", True),
        ("use web search", True),
        ("turn on the kitchen", False),
        ("turn on the kitchen lights", False),
        ("yes", False),
    ],
)
def test_paths_lead_to_the_sentences_of_the_grammar_and_nowhere_else(sentence: str, *, whole: bool) -> None:
    paths = CommandPaths(render_grammar(["kitchen light", "front door"], ["web search"], written=True))

    place = paths.start
    for character in f" {sentence}":
        place = paths.advance(place, character)

    assert paths.is_end(place) is whole
    assert (paths.weigh(sentence) > float("-inf")) is whole


def test_what_is_said_more_often_weighs_more() -> None:
    paths = CommandPaths(render_grammar(["kitchen light", "front door"], [], written=True))

    assert paths.weigh("open the front door") > paths.weigh("open the kitchen light")
