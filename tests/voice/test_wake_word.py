"""With a wake word, only what is said after it counts."""

from __future__ import annotations

import pytest

from ot.config.assistant import VadSettings
from ot.errors import VoiceError
from ot.execution.wording import word_error
from ot_voice.audio import Utterance
from ot_voice.ear import Ear, Sound, WakeWord, WakeWordHeard, open_detector
from tests.longer import long_after
from tests.voice.spoken_audio import cut_blocks, in_a_room, silence, speak

pytestmark = pytest.mark.xdist_group("voice")


def hear(audio: bytes, *, window: float = 8.0) -> list[Sound]:
    ear = Ear(open_detector(), VadSettings(), waker=WakeWord("hey_jarvis"), window=window)
    sounds = [sound for block in cut_blocks(audio) for sound in ear.hear(block)]
    sounds += ear.finish()
    ear.close()
    return [sound for sound in sounds if isinstance(sound, Utterance | WakeWordHeard)]


@pytest.mark.parametrize("voice", long_after(1, ["flite-slt", "flite-rms", "espeak-us"]))
def test_what_follows_the_wake_word_is_heard(voice: str) -> None:
    command = speak("turn on the kitchen light", voice)

    word, utterance = hear(in_a_room(speak("hey jarvis", voice), command, between=1.0))

    assert isinstance(word, WakeWordHeard)
    assert isinstance(utterance, Utterance)
    assert utterance.start > word.at - 0.3
    assert utterance.seconds == pytest.approx(len(command) / 32_000 + 0.6, abs=0.7)


@pytest.mark.long
def test_a_command_in_the_same_breath_is_heard_without_the_word() -> None:
    command = speak("turn on the kitchen light")
    breath = speak("hey jarvis") + silence(0.3) + command

    word, utterance = hear(in_a_room(breath))

    assert isinstance(word, WakeWordHeard)
    assert isinstance(utterance, Utterance)
    assert utterance.seconds < len(command) / 32_000 + 1.0


def test_without_the_word_nothing_is_heard() -> None:
    assert hear(in_a_room(speak("turn on the kitchen light"), speak("what time is it"))) == []


@pytest.mark.long
def test_after_one_command_the_word_is_needed_again() -> None:
    command = speak("lock the front door")

    sounds = hear(in_a_room(speak("hey jarvis"), command, command))

    assert [type(sound) for sound in sounds] == [WakeWordHeard, Utterance]


@pytest.mark.long
def test_who_waits_too_long_is_not_heard() -> None:
    sounds = hear(in_a_room(speak("hey jarvis"), speak("lock the front door"), between=2.5), window=1.0)

    assert [type(sound) for sound in sounds] == [WakeWordHeard]


def test_an_unknown_wake_word_is_answered_with_those_there_are() -> None:
    with pytest.raises(VoiceError) as refused:
        WakeWord("computer")

    assert word_error(refused.value) == (
        "wake word 'computer': unknown; choose one of alexa, hey_jarvis, hey_mycroft, hey_rhasspy, okay_nabu."
    )
