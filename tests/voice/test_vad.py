"""Utterances are found in real speech, and cut as the settings say."""

from __future__ import annotations

from collections.abc import Iterable

import numpy
import pytest

from ot.config.assistant import VadSettings
from ot_voice.audio import BLOCK, Utterance, seconds_of
from ot_voice.ear import Ear, Segmenter, SpeechBegan, open_detector
from tests.voice.spoken_audio import VOICES, cut_blocks, in_a_room, silence, speak, to_bytes

BLOCK_TIME = seconds_of(BLOCK)
SETTINGS = VadSettings(min_speech=0.2, min_silence=0.5, padding=0.2, max_length=5)


def feed(likely: Iterable[float], settings: VadSettings = SETTINGS) -> list[SpeechBegan | Utterance]:
    """What a segmenter makes of probabilities, one for each block."""
    segmenter = Segmenter(settings)
    found = [sound for probability in likely for sound in segmenter.feed(bytes(BLOCK), probability)]
    return [*found, *segmenter.finish()]


def utterances(sounds: Iterable[object]) -> list[Utterance]:
    return [sound for sound in sounds if isinstance(sound, Utterance)]


def blocks(seconds: float) -> int:
    return round(seconds / BLOCK_TIME)


def hear(audio: bytes, settings: VadSettings | None = None) -> list[Utterance]:
    ear = Ear(open_detector(), settings or VadSettings())
    sounds = [sound for block in cut_blocks(audio) for sound in ear.hear(block)]
    return utterances([*sounds, *ear.finish()])


def test_an_utterance_begins_and_ends_with_the_padding() -> None:
    began, utterance = feed([0.0] * blocks(1) + [0.9] * blocks(1) + [0.0] * blocks(1))

    assert isinstance(began, SpeechBegan)
    assert began.at == pytest.approx(1.2, abs=0.05)
    assert isinstance(utterance, Utterance)
    assert utterance.start == pytest.approx(0.8, abs=0.05)
    assert utterance.end == pytest.approx(2.2, abs=0.05)
    assert utterance.seconds == pytest.approx(1.4, abs=0.05)


def test_a_click_is_no_speech() -> None:
    assert feed([0.0] * 30 + [0.9] * blocks(0.12) + [0.0] * 60) == []


def test_speech_that_dips_between_the_thresholds_goes_on() -> None:
    dipping = [0.9] * 10 + [0.4] * blocks(1) + [0.9] * 10

    assert len(utterances(feed(dipping + [0.0] * 40))) == 1


def test_what_never_reaches_the_threshold_does_not_begin() -> None:
    assert feed([0.45] * 200) == []


def test_a_short_pause_belongs_to_the_utterance_and_a_long_one_ends_it() -> None:
    speech = [0.9] * blocks(0.5)

    assert len(utterances(feed(speech + [0.0] * blocks(0.4) + speech + [0.0] * 40))) == 1
    assert len(utterances(feed(speech + [0.0] * blocks(0.6) + speech + [0.0] * 40))) == 2


def test_speech_without_end_is_cut_and_loses_nothing() -> None:
    found = utterances(feed([0.9] * blocks(12)))

    assert [utterance.cut for utterance in found] == [True, True, False]
    assert all(utterance.seconds <= 5.05 for utterance in found)
    assert sum(utterance.seconds for utterance in found) == pytest.approx(12, abs=0.1)


def test_the_last_breath_after_a_cut_is_no_utterance() -> None:
    assert len(utterances(feed([0.9] * blocks(5) + [0.9] + [0.0] * 40))) == 1


def test_a_stream_that_ends_in_the_middle_of_a_word_keeps_it() -> None:
    assert len(utterances(feed([0.0] * 10 + [0.9] * blocks(0.6)))) == 1


@pytest.mark.parametrize("voice", VOICES)
def test_two_spoken_sentences_are_two_utterances(voice: str) -> None:
    first, second = speak("turn on the kitchen light", voice), speak("lock the front door", voice)

    heard = hear(in_a_room(first, second))

    assert len(heard) == 2
    assert heard[0].start == pytest.approx(0.3, abs=0.35)
    assert heard[1].end == pytest.approx(0.5 + seconds_of(len(first)) + 1.2 + seconds_of(len(second)), abs=0.6)


@pytest.mark.parametrize("sound", ["nothing", "noise", "hum"])
def test_sounds_that_are_not_speech_are_not_heard(sound: str) -> None:
    time = numpy.arange(4 * 16_000) / 16_000
    samples = {
        "nothing": numpy.zeros(len(time)),
        "noise": numpy.random.default_rng(1).normal(0, 0.1, len(time)),
        "hum": 0.4 * numpy.sin(2 * numpy.pi * 50 * time),
    }[sound]

    assert hear(to_bytes(samples)) == []


def test_quiet_speech_is_heard() -> None:
    loud = numpy.frombuffer(speak("turn on the kitchen light"), "<i2")

    assert len(hear(silence(0.5) + (loud // 20).astype("<i2").tobytes() + silence(1))) == 1


def test_thresholds_the_wrong_way_round_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="release is above threshold"):
        VadSettings(threshold=0.3, release=0.6)
