"""Commands spoken by six voices at three rates in two rooms with noise at 20 dB, and sentences that are none.

`make bench-voice` measures all of it, which takes long; `SLICE=2/10` measures the second tenth. A command counts as
understood if action and device are exactly right: at once, or as what the assistant asks back, first or second.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import anyio

from bench.bench_voice import COMMANDS, DEVICES, OTHER, TOOLS
from ot.config.assistant import VadSettings
from ot.isolate import IsolateHost
from ot_voice.audio import Utterance
from ot_voice.ear import Ear, open_detector
from ot_voice.grammar import Names, essence, spoken_form
from ot_voice.recognisers import CommandRecogniser, GrammarRecogniser, MoonshineRecogniser, Transcript
from ot_voice.second_opinion import SecondOpinion
from tests.voice.rooms import ROOMS, Room, heard_in
from tests.voice.spoken_audio import cut_blocks, speak

VOICES = ("espeak-us", "espeak-us-f", "espeak-gb", "flite-slt", "flite-rms", "flite-awb")
PACES = (0.8, 1.0, 1.25)
RIGHT, ASKED, SECOND = "right", "right, asked back", "second question"
WRONG, ASKED_WRONG, LOST = "wrong", "wrong, asked back", "no command"


@dataclass(frozen=True, slots=True)
class Sample:
    """One sentence as one voice says it in one room."""

    voice: str
    pace: float
    room: Room
    text: str

    def hear(self) -> bytes:
        """Return the utterance that speech detection finds; nothing where it is not one."""
        seed = zlib.crc32(f"{self.voice} {self.pace} {self.text}".encode())
        audio = heard_in(self.room, speak(self.text, self.voice, pace=self.pace), seed=seed)
        ear = Ear(open_detector(), VadSettings())
        sounds = [sound for block in cut_blocks(audio) for sound in ear.hear(block)]
        found = [sound for sound in [*sounds, *ear.finish()] if isinstance(sound, Utterance)]
        return found[0].audio if len(found) == 1 else b""


def samples() -> Iterator[Sample]:
    """Yield every combination, so that each slice has some of everything."""
    for text in (*COMMANDS, *OTHER):
        for pace in PACES:
            for voice in VOICES:
                for room in ROOMS:
                    yield Sample(voice, pace, room, text)


def judge(sample: Sample, heard: Transcript, *, free: str) -> str:
    """Say how well a sample was understood."""
    said = essence(sample.text)
    if essence(spoken_form(heard.text)) == said:
        return ASKED if heard.doubted else RIGHT
    if heard.doubted and essence(spoken_form(heard.alternative)) == said:
        return SECOND
    if heard.engine == free:
        return LOST
    return ASKED_WRONG if heard.doubted else WRONG


async def _names() -> Names:
    return Names(DEVICES, TOOLS)


async def measure(part: int, parts: int) -> None:
    """Print each sample that was not understood at once, then a table."""
    counts: Counter[tuple[str, str]] = Counter()
    async with IsolateHost(memory=3 * 1024**3, idle_timeout=600) as host:
        free = MoonshineRecogniser(host)
        both = SecondOpinion(free, CommandRecogniser(host, _names), GrammarRecogniser(host, _names))
        for index, sample in enumerate(samples()):
            if index % parts != part - 1:
                continue
            heard = await both.transcribe(sample.hear())
            outcome = judge(sample, heard, free=free.name)
            rows = _rows(sample) if sample.text in COMMANDS else ["other sentences"]
            counts.update((row, outcome) for row in rows)
            if outcome != RIGHT:
                where = f"{sample.voice} {sample.pace} {sample.room.name}"
                print(f"{outcome:<18} {where:<28} {sample.text} -> {heard.text}", flush=True)
    _print_table(counts)


def _rows(sample: Sample) -> list[str]:
    return ["all commands", sample.room.name, f"pace {sample.pace}", f"{sample.voice}, {sample.room.name}"]


def _print_table(counts: Counter[tuple[str, str]]) -> None:
    columns = (RIGHT, ASKED, SECOND, WRONG, ASKED_WRONG, LOST)
    print(f"\n{'':<26}{'samples':>8}" + "".join(f"{column:>19}" for column in columns))
    for row in sorted({row for row, _ in counts}):
        total = sum(counts[row, column] for column in columns)
        shares = "".join(f"{counts[row, column] / total:>19.1%}" for column in columns)
        print(f"{row:<26}{total:>8}{shares}")


if __name__ == "__main__":
    wanted, _, of = (sys.argv[1] if len(sys.argv) > 1 else "1/1").partition("/")
    anyio.run(measure, int(wanted), int(of))
