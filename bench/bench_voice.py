"""What is understood of spoken commands: twelve of them in four voices, found by speech detection, by each engine.

Voices are those of espeak-ng and flite. They are harder to understand than people, for a model that has learnt from
people; the figures are for comparing, not for boasting.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import anyio

from bench.report import Line
from bench.servers import Servers
from ot.config.assistant import VadSettings
from ot.isolate import IsolateHost
from ot_voice.audio import Utterance
from ot_voice.ear import Ear, open_detector
from ot_voice.grammar import Names, spoken_form
from ot_voice.recognisers import CommandRecogniser, GrammarRecogniser, MoonshineRecogniser, Recogniser
from ot_voice.second_opinion import SecondOpinion
from tests.voice.spoken_audio import VOICES, cut_blocks, in_a_room, speak

COMMANDS = (
    "turn on the kitchen light",
    "turn off the kitchen light",
    "dim the bedroom lamp to thirty percent",
    "lock the front door",
    "unlock the front door",
    "set the thermostat to twenty one degrees",
    "what is the temperature in the hallway",
    "switch on the garden light",
    "is the front door locked",
    "turn the hallway light off",
    "set the bedroom lamp to fifty percent",
    "how warm is the living room",
)
OTHER = (
    "what will the weather be like tomorrow",
    "tell me a story about a dragon",
    "remind me to call my mother at six",
    "add milk and eggs to the shopping list",
    "translate good morning into spanish",
    "i think we should go home now",
)
DEVICES = (
    *("Kitchen Light", "Garden Light", "Hallway Light", "Bedroom Lamp", "Office Lamp", "Desk Light 2", "Ceiling Fan"),
    *("Front Door", "Back Door", "Garage Door", "Thermostat", "Multisensor", "Wohnzimmer"),
    *("Living Room", "Hallway", "Bedroom", "Kitchen"),
)
TOOLS = ("zwave.devices", "web.search", "file.read", "ot.health", "demo.upper")


@dataclass(frozen=True, slots=True)
class _Score:
    right: int
    real_time: float  # seconds of work for a second of speech


async def _names() -> Names:
    return Names(DEVICES, TOOLS)


def measure(_: Servers) -> Iterator[Line]:
    commands = [(text, _hear(text, voice)) for text in COMMANDS for voice in VOICES]
    others = [(text, _hear(text, voice)) for text in OTHER for voice in VOICES]
    grammar, free, both, left_alone = anyio.run(_measure, commands, others)
    total = len(commands)
    yield Line(f"spoken commands understood, grammar, of {total}", grammar.right, None, "", 45, lower_is_better=False)
    yield Line("  its real-time factor", grammar.real_time, None, "", 0.5)
    yield Line(f"the same, default engine alone, of {total}", free.right, None, "", 15, lower_is_better=False)
    yield Line("  its real-time factor", free.real_time, None, "", 0.5)
    yield Line(f"the same, both together, of {total}", both.right, None, "", 45, lower_is_better=False)
    yield Line("  their real-time factor", both.real_time, None, "", 0.8)
    what = f"other sentences not taken for commands, of {len(others)}"
    yield Line(what, left_alone, None, "", len(others) - 1, lower_is_better=False)


async def _measure(
    commands: Sequence[tuple[str, bytes]], others: Sequence[tuple[str, bytes]]
) -> tuple[_Score, _Score, _Score, int]:
    async with IsolateHost(memory=3 * 1024**3, idle_timeout=600) as host:
        grammar, free = GrammarRecogniser(host, _names), MoonshineRecogniser(host)
        both = SecondOpinion(free, CommandRecogniser(host, _names), grammar)
        await both.prepare()
        scores = [await _score(recogniser, commands) for recogniser in (grammar, free, both)]
        engines = [(await both.transcribe(audio)).engine for _, audio in others]
    return scores[0], scores[1], scores[2], engines.count(free.name)


async def _score(recogniser: Recogniser, commands: Sequence[tuple[str, bytes]]) -> _Score:
    start, right, seconds = time.perf_counter(), 0, 0.0
    for text, audio in commands:
        heard = await recogniser.transcribe(audio)
        right += spoken_form(heard.text) == text
        seconds += len(audio) / 32_000
    return _Score(right, (time.perf_counter() - start) / seconds)


def _hear(text: str, voice: str) -> bytes:
    """The utterance that speech detection finds; nothing, which no engine understands, where it is not one."""
    ear = Ear(open_detector(), VadSettings())
    sounds = [sound for block in cut_blocks(in_a_room(speak(text, voice))) for sound in ear.hear(block)]
    found = [sound for sound in [*sounds, *ear.finish()] if isinstance(sound, Utterance)]
    return found[0].audio if len(found) == 1 else b""
