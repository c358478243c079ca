"""Consent by voice: a call is read aloud, and only a yes that a person says afterwards lets it happen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from ot.ai.messages import Event, Finished
from ot.clients.caller import Caller, Choice
from ot.config.assistant import VoiceSettings
from ot.execution.tool_executor import ToolExecutor
from ot_voice.consent import SpokenConsent, read_aloud
from ot_voice.events import Answered, AnswerEnded, Asked, Asking, Heard, Spoken
from ot_voice.listening import open_listening
from ot_voice.recognisers import Transcript
from tests.opened_executor import add_tool, open_executor
from tests.voice.listening_room import SILENCE, UTTERANCE, Blocks, Replies, Seen, Voice, listen
from tests.voice.spoken_audio import in_a_room, speak, whole_blocks

pytestmark = pytest.mark.xdist_group("voice")

# The small engine, which hears a yes or no beside the larger ones too; those are tested in test_recognisers.
SETTINGS = VoiceSettings(
    engine="grammar", names=("Front Door", "Kitchen Light"), answer_window=60, recognition_timeout=60
)
HEAD = 44  # bytes of a WAV file before its samples


class OneRoom:
    """A microphone and a loudspeaker in one room: the microphone hears what the loudspeaker says, and every person.

    Every sound is a whole number of blocks, so that a sentence is cut alike, and understood alike, whenever it is said.
    """

    live = True

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](100)
        self._waiting = False

    async def play(self, wav: bytes) -> None:
        """Return when the microphone has heard it, as sound does."""
        await self._send.send(whole_blocks(wav[HEAD:]))
        while self._receive.statistics().current_buffer_used or not self._waiting:
            await anyio.sleep(0.005)

    async def say(self, text: str, voice: str = "flite-slt") -> None:
        await self._send.send(whole_blocks(in_a_room(speak(text, voice))))

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        while True:
            heard = whole_blocks(
                in_a_room(b"", before=0.03, after=0.03)
            )  # a room is never quite silent, and time goes on
            self._waiting = True
            with anyio.move_on_after(0.05):
                heard = await self._receive.receive()
            self._waiting = False
            yield heard

    def close(self) -> None:
        self._send.close()
        self._receive.close()


class Unlocking:
    """Answers every request by unlocking the front door, which needs consent, and says nothing itself."""

    def __init__(self, executor: ToolExecutor, caller: Caller) -> None:
        self._executor = executor
        self._caller = caller

    async def reply(self, text: str) -> AsyncIterator[Event]:
        await self._executor.answer("house.unlock", {"door": "Front Door", "note": "yes"}, caller=self._caller)
        yield Finished()


@dataclass
class House:
    """A listening assistant whose one tool asks."""

    room: OneRoom
    seen: Seen
    unlocked: list[dict[str, Any]] = field(default_factory=list)

    async def ask_for_the_door(self, time: int) -> None:
        """Say the command; return when the question about it has been read, for the so-many-th time."""
        await self.room.say("unlock the front door", "espeak-us")
        await self.seen.wait_for(Asked, time)


@asynccontextmanager
async def open_house() -> AsyncIterator[House]:
    house, consent = House(OneRoom(), Seen()), SpokenConsent()

    async def unlock(arguments: dict[str, Any]) -> str:
        house.unlocked.append(arguments)
        return "unlocked"

    async def at_once(text: str) -> None:
        """No server is waited for."""

    with closing(house.room):
        async with open_executor(config={"policy": {"ask": ["house.unlock"]}}) as opened:
            add_tool(opened, "house.unlock", unlock)
            answers = Unlocking(opened.executor, Caller(ask=consent.ask))
            async with open_listening(
                house.room,
                answers,
                opened.executor,
                settings=SETTINGS,
                player=house.room,
                watch=house.seen,
                catch_up=at_once,
                consent=consent,
            ):
                yield house


async def test_only_a_yes_of_a_person_lets_a_call_happen_and_only_this_once() -> None:
    async with open_house() as house:
        await house.ask_for_the_door(1)
        assert not house.unlocked  # the question itself has said "yes", and the microphone has heard it
        await house.room.say("yes please")
        await house.seen.wait_for(AnswerEnded, 1)
        assert house.unlocked == [{"door": "Front Door", "note": "yes"}]

        await house.ask_for_the_door(2)
        await house.room.say("no thank you")
        await house.seen.wait_for(AnswerEnded, 2)

        await house.ask_for_the_door(3)
        await house.room.say("turn off the kitchen light")
        await house.seen.wait_for(Asked, 4)  # it was no answer, so it is the next request

        assert [event.agreed for event in house.seen.only(Answered)] == [True, False, False]
        assert [event.text for event in house.seen.only(Heard)][2:] == [
            "unlock the Front Door",
            "turn off the Kitchen Light",
        ]
        assert len(house.unlocked) == 1

    spoken = [event.sentence for event in house.seen.only(Spoken)]
    assert spoken[:5] == ["Allow this call?", "house unlock", "door: Front Door", "note: yes", "Say yes or no."]
    assert "policy.ask names house.unlock" in house.seen.only(Asking)[0].question


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("Allow delete? It removes a file.", ["Allow delete? It removes a file.", "Say yes or no."]),
        (
            'Allow this call?\n\nfile.write\n  path = "a_b.txt"\n  (asked because policy.ask names file.*)',
            ["Allow this call?", "file write", "path: a b txt", "Say yes or no."],
        ),
        (
            f"Allow this call?\n\nnotes.add\n  text = {'word ' * 40}",
            [
                "Allow this call?",
                "notes add",
                f"text: {'word ' * 16}and so on".replace(" and", ", and"),
                "This is shortened.",
                "Say yes or no.",
            ],
        ),
    ],
    ids=["own question", "call", "long"],
)
def test_a_question_is_read_without_what_is_for_the_eye(question: str, sentences: Sequence[str]) -> None:
    assert read_aloud(question) == sentences


async def test_where_nobody_listens_the_answer_is_no() -> None:
    assert await SpokenConsent().ask("Allow this call?", tuple(Choice)) is None


class Saying:
    """A recogniser of made-up blocks, for whom every answer is a yes, after some that are none."""

    def __init__(self, *answers: bool | None) -> None:
        self._answers = [*answers]

    async def prepare(self) -> None:
        pass

    async def transcribe(self, audio: bytes) -> Transcript:
        return Transcript(
            "turn on the light", "words", 0.5, doubted="Tons of the lies", alternative="turn off the light"
        )

    async def hear_answer(self, audio: bytes) -> bool | None:
        return self._answers.pop(0) if self._answers else True


async def test_a_doubtful_command_is_asked_about_and_silence_is_no() -> None:
    seen, replies, source = Seen(), Replies(), Blocks(UTTERANCE)

    async with listen(source, Saying(), replies, seen, speaker=Voice(), answer_window=0.2) as listening:
        await seen.wait_for(Asking)
        feeding = anyio.create_task_group()
        async with feeding:
            feeding.start_soon(_go_on_in_silence, source)
            await seen.wait_for(AnswerEnded)
            feeding.cancel_scope.cancel()
        listening.stop()

    assert [event.question for event in seen.only(Asking)] == ["Did you say: turn on the light?"]
    assert not seen.only(Answered)[0].agreed
    assert replies.asked == ["Tons of the lies"]


async def test_a_doubtful_command_in_a_recording_is_confirmed_by_what_follows() -> None:
    seen, replies, source = Seen(), Replies(), Blocks([*UTTERANCE, *UTTERANCE], live=False)
    source.close()

    async with listen(source, Saying(), replies, seen, speaker=Voice()) as listening:
        with anyio.fail_after(60):
            await listening.finished()

    assert replies.asked == ["turn on the light"]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([False], "turn off the light"), ([False, False], "Tons of the lies")],
    ids=["no and yes", "twice no"],
)
async def test_who_says_no_is_asked_about_the_next_command(answers: list[bool], asked: str) -> None:
    seen, replies, source = Seen(), Replies(), Blocks([*UTTERANCE, *UTTERANCE, *UTTERANCE], live=False)
    source.close()

    async with listen(source, Saying(*answers), replies, seen, speaker=Voice()) as listening:
        with anyio.fail_after(60):
            await listening.finished()

    assert [event.question for event in seen.only(Asking)][1:] == ["Or was it: turn off the light?"]
    assert replies.asked == [asked]


async def _go_on_in_silence(source: Blocks) -> None:
    while True:
        source.say([SILENCE])
        await anyio.sleep(0.03)
