"""Both recognisers on real speech, how their words are combined, and what happens when an engine misbehaves."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from mcp_core.installation import install_command
from ot.errors import MissingVoiceError, VoiceError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot_voice.grammar import Names, read_answer, spoken_form
from ot_voice.recognisers import (
    CommandRecogniser,
    FasterWhisperRecogniser,
    GrammarRecogniser,
    IsolatedRecogniser,
    MoonshineRecogniser,
    Transcript,
)
from ot_voice.second_opinion import SecondOpinion, agreement, choose
from tests.longer import long_after
from tests.voice.rooms import ROOMS, Room, heard_in
from tests.voice.spoken_audio import in_a_room, speak

pytestmark = pytest.mark.xdist_group("voice")

HOUSE = Names(
    devices=("Kitchen Light", "Bedroom Lamp", "Front Door", "Hall Thermostat", "Attic", "Multisensor 2", "Süd 厨房"),
    tools=("zwave.devices", "web.search"),
)
ENGINE = Path(__file__).parents[1] / "programs/voice/hanging_engine.py"


async def in_the_house() -> Names:
    return HOUSE


@pytest.fixture(scope="module")
async def host() -> AsyncIterator[IsolateHost]:
    """One for all tests of the module: models are loaded once."""
    async with IsolateHost(memory=3 * 1024**3, idle_timeout=600) as opened:
        yield opened


def said(text: str, voice: str = "flite-slt") -> bytes:
    return in_a_room(speak(text, voice), before=0.4, after=0.4)


async def test_moonshine_hears_free_speech(host: IsolateHost) -> None:
    heard = await MoonshineRecogniser(host).transcribe(said("What is the temperature in the hallway?"))

    assert spoken_form(heard.text) == "what is the temperature in the hallway"
    assert heard.engine == "moonshine"


@pytest.mark.parametrize("voice", long_after(1, ["flite-slt", "flite-rms", "espeak-us", "espeak-gb"]))
async def test_the_grammar_hears_commands_and_writes_names_as_their_owner_does(host: IsolateHost, voice: str) -> None:
    heard = await GrammarRecogniser(host, in_the_house).transcribe(
        said("dim the bedroom lamp to thirty percent", voice)
    )

    assert heard.text == "dim the Bedroom Lamp to thirty percent"
    assert heard.confidence is not None
    assert heard.confidence > 0.5


async def test_the_grammar_knows_names_that_no_dictionary_has(host: IsolateHost) -> None:
    heard = await GrammarRecogniser(host, in_the_house).transcribe(said("turn on the multisensor two"))

    assert heard.text == "turn on the Multisensor 2"


async def test_the_grammar_follows_the_names_that_there_are(host: IsolateHost) -> None:
    names = Names(devices=("Porch Light",))

    async def current() -> Names:
        return names

    recogniser = GrammarRecogniser(host, current)
    first = await recogniser.transcribe(said("switch on the porch light"))
    names = Names(devices=("Garage Door",))
    second = await recogniser.transcribe(said("open the garage door"))

    assert (first.text, second.text) == ("switch on the Porch Light", "open the Garage Door")


async def test_the_grammar_does_not_believe_in_other_sentences(host: IsolateHost) -> None:
    heard = await GrammarRecogniser(host, in_the_house).transcribe(said("add milk and eggs"))

    assert heard.confidence is not None
    assert heard.confidence < 0.5


@pytest.mark.parametrize("audio", [b"", bytes(2)], ids=["none", "one sample"])
async def test_what_is_too_short_for_a_word_has_no_words(host: IsolateHost, audio: bytes) -> None:
    assert (await MoonshineRecogniser(host).transcribe(audio)).text == ""
    assert (await GrammarRecogniser(host, in_the_house).transcribe(audio)).text == ""


@pytest.mark.long
async def test_a_second_opinion_takes_the_command_for_commands_and_free_words_for_the_rest(host: IsolateHost) -> None:
    async def in_the_flat() -> Names:
        return Names(devices=("Kitchen Light", "Front Door"))  # the fewer commands there are, the sooner one is found

    commands = CommandRecogniser(host, in_the_flat)
    both = SecondOpinion(MoonshineRecogniser(host), commands, GrammarRecogniser(host, in_the_flat))

    command = await both.transcribe(said("turn off the kitchen light", "espeak-us"))
    door = await both.transcribe(said("unlock the front door", "espeak-us"))
    question = await both.transcribe(said("Who won the football game last night?"))

    assert (command.text, command.engine) == ("turn off the Kitchen Light", "commands")
    assert not command.doubted
    assert (door.text, door.alternative) == ("unlock the Front Door", "lock the Front Door")
    assert spoken_form(question.doubted or question.text) == "who won the football game last night"


@pytest.mark.parametrize(
    ("free", "command", "confidence", "outcome"),
    [
        ("Turn on the kitchen light.", "turn on the Kitchen Light", 0.4, "grammar"),
        ("And lack of a front door", "unlock the Front Door", 0.6, "grammar"),
        ("Black nephron to nor", "lock the Front Door", 0.9999, "grammar"),
        ("Who won the football game?", "turn on the Kitchen Light", 0.6, "doubted"),
        ("Who won the football game?", "turn on the Kitchen Light", 0.2, "free"),
        ("Turn on the bathroom light", "turn on the Kitchen Light", 0.04, "doubted"),
        ("Turn off the kitchen light", "turn on the Kitchen Light", 0.999, "doubted"),
        ("So not off the cousin light", "turn on the Kitchen Light", 0.9999, "doubted"),
        ("Dim the lamp to fifty", "dim the lamp to fifteen", 0.999, "doubted"),
        ("", "stop", 0.9, "grammar"),
        ("", "stop", 0.2, "free"),
        ("Hello", "", 0.0, "free"),
    ],
)
def test_confidence_and_agreement_decide_together(free: str, command: str, confidence: float, outcome: str) -> None:
    chosen = choose(Transcript(free, "free"), Transcript(command, "grammar", confidence))

    assert ("doubted" if chosen.doubted else chosen.engine) == outcome
    assert chosen.doubted in ("", free)


def test_a_person_is_asked_where_two_commands_are_nearly_as_likely() -> None:
    free, command = Transcript("Turned off the kitchen", "free"), Transcript("turn off the Kitchen", "commands", 0.99)

    assert not choose(free, command).doubted
    assert choose(free, replace(command, unsure=True)).doubted == free.text


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
async def test_commands_are_found_in_a_room_with_noise(host: IsolateHost, room: Room) -> None:
    heard = heard_in(room, speak("turn off the kitchen light", "flite-rms", pace=1.0), seed=1)

    found = await CommandRecogniser(host, in_the_house).transcribe(heard)

    assert (found.text, found.unsure) == ("turn off the Kitchen Light", False)
    assert found.alternative == "turn on the Kitchen Light"


def test_agreement_counts_letters_in_order() -> None:
    assert agreement("Turn on the light!", "turn on the light") == 1
    assert agreement("abc", "xyz") == 0
    assert agreement("", "") == 1


class Fixed:
    """A recogniser that says one thing, or fails."""

    def __init__(self, transcript: Transcript | None) -> None:
        self._transcript = transcript

    async def prepare(self) -> None:
        await self.transcribe(b"")

    async def transcribe(self, audio: bytes) -> Transcript:
        if self._transcript is None:
            raise VoiceError("fixed", "it is broken")
        return self._transcript

    async def hear_answer(self, audio: bytes) -> bool | None:
        return read_answer((await self.transcribe(audio)).text)


async def test_an_answer_counts_if_both_hear_it() -> None:
    yes, less = Fixed(Transcript("Yes.", "")), Fixed(Transcript("Less.", ""))
    command = Fixed(Transcript("turn on the light", ""))

    assert await SecondOpinion(yes, command, yes).hear_answer(b"") is True
    assert await SecondOpinion(yes, command, less).hear_answer(b"") is None
    assert await SecondOpinion(less, command, yes).hear_answer(b"") is None
    assert await SecondOpinion(yes, command, Fixed(Transcript("No.", ""))).hear_answer(b"") is False


async def test_where_one_of_the_two_fails_the_other_is_heard() -> None:
    free, command = Fixed(Transcript("Hello", "free")), Fixed(Transcript("stop", "grammar", 0.9))

    assert (await SecondOpinion(free, Fixed(None), free).transcribe(b"")).text == "Hello"
    assert (await SecondOpinion(Fixed(None), command, free).transcribe(b"")).text == "stop"
    with pytest.raises(VoiceError, match="it is broken"):
        await SecondOpinion(Fixed(None), Fixed(None), free).transcribe(b"")
    await SecondOpinion(free, Fixed(None), free).prepare()
    with pytest.raises(VoiceError, match="it is broken"):
        await SecondOpinion(Fixed(None), command, free).prepare()


async def test_a_model_is_loaded_once_however_many_ask_for_it() -> None:
    async with IsolateHost(memory=3 * 1024**3) as host:
        recogniser = GrammarRecogniser(host, in_the_house)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recogniser.prepare)
            tasks.start_soon(recogniser.transcribe, bytes(16_000))
            tasks.start_soon(recogniser.transcribe, bytes(16_000))

        assert len(host.idle_pids()) == 1


class Odd(IsolatedRecogniser):
    name, module, library = "odd", str(ENGINE), "numpy"


async def test_an_engine_that_hangs_is_dead_when_it_is_stopped(host: IsolateHost, tmp_path: Path) -> None:
    engine = Odd(host)
    pid = tmp_path / "pid"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: engine.call("transcribe", audio=b"", folder=str(tmp_path)))
        with anyio.fail_after(60):
            while not (pid.exists() and pid.read_text()):
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize(
    ("function", "reason"), [("raising", "MemoryError: no room"), ("dying", "ended in the middle")]
)
async def test_an_engine_that_fails_is_named(host: IsolateHost, tmp_path: Path, function: str, reason: str) -> None:
    engine = Odd(host)

    with pytest.raises(VoiceError, match=reason):
        await engine.call(function, audio=b"", folder=str(tmp_path))


async def test_a_missing_library_is_one_error_with_the_command_that_installs_it(host: IsolateHost) -> None:
    with pytest.raises(MissingVoiceError) as missing:
        await FasterWhisperRecogniser(host, "base.en").transcribe(bytes(32_000))

    assert word_error(missing.value).endswith(install_command("faster-whisper"))
