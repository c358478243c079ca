"""BackgroundTranscriber: what is heard is answered and spoken; speech stops an answer; nothing grows or is left over."""

from __future__ import annotations

import asyncio
import os
import threading
import tracemalloc
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from ot.errors import VoiceError
from ot.isolate import IsolateHost
from ot_voice.ear import SpeechBegan
from ot_voice.events import (
    AnswerEnded,
    Answering,
    Dropped,
    Failed,
    Heard,
    Interrupted,
    NotUnderstood,
    Spoken,
)
from ot_voice.recognisers import IsolatedRecogniser, Transcript
from tests.voice.listening_room import SILENCE, SPEECH, UTTERANCE, Blocks, Replies, Seen, Voice, Words, listen

ENGINE = Path(__file__).parents[1] / "programs/voice/hanging_engine.py"


async def forever(*_: object) -> None:
    await anyio.sleep_forever()


async def test_what_is_heard_is_answered_and_spoken_sentence_by_sentence() -> None:
    seen, voice = Seen(), Voice()
    source = Blocks(UTTERANCE)
    source.close()

    async with listen(source, Words(), Replies(), seen, speaker=voice) as listening:
        with anyio.fail_after(60):
            await listening.finished()

    assert [event.text for event in seen.only(Heard)] == ["command 1"]
    assert voice.begun == ["You said command 1.", "That is all."]
    assert [event.sentence for event in seen.only(Spoken)] == voice.begun
    assert seen.events[-1] == AnswerEnded("command 1")


async def test_where_barge_in_is_off_speech_is_heard_during_an_answer_and_does_not_stop_it() -> None:
    seen, gate = Seen(), anyio.Event()
    source = Blocks(UTTERANCE)

    async with listen(source, Words(), Replies(gate.wait), seen, barge_in=False) as listening:
        await seen.wait_for(Answering)
        source.say(UTTERANCE)
        source.close()
        await seen.wait_for(SpeechBegan, 2)
        gate.set()
        with anyio.fail_after(60):
            await listening.finished()

    assert [event.text for event in seen.only(AnswerEnded)] == ["command 1", "command 2"]
    assert not seen.only(Interrupted)


@pytest.mark.parametrize("busy", ["replying", "speaking"])
async def test_speech_during_an_answer_stops_the_reply_and_the_voice(busy: str) -> None:
    seen = Seen()
    replies = Replies(forever if busy == "replying" else None)
    voice = Voice(forever if busy == "speaking" else None)
    source = Blocks(UTTERANCE)

    async with listen(source, Words(), replies, seen, speaker=voice):
        with anyio.fail_after(60):
            while not voice.begun:
                await anyio.sleep(0.005)
        source.say([SPEECH] * 20)  # the person is still speaking
        await seen.wait_for(Interrupted)

        assert replies.ended == (["CancelledError"] if busy == "replying" else ["whole"])
        assert voice.stopped == (["You said command 1."] if busy == "speaking" else [])
        assert replies.asked == ["command 1"]

        source.say([SILENCE] * 30)
        await seen.wait_for(Heard, 2)

    assert not seen.only(AnswerEnded)


async def test_speech_that_comes_too_fast_drops_the_oldest_that_waits() -> None:
    seen, gate = Seen(), anyio.Event()

    async def wait(_: int) -> None:
        await gate.wait()

    source = Blocks(UTTERANCE * 8)
    source.close()
    async with listen(source, Words(wait), Replies(), seen, queue=2, barge_in=False) as listening:
        dropped = await seen.wait_for(Dropped, 5)
        gate.set()
        with anyio.fail_after(60):
            await listening.finished()

    # The first is being recognised; of the other seven the last two were still waiting.
    assert len(dropped) == 5
    assert [event.start for event in dropped] == sorted(event.start for event in dropped)
    assert len(seen.only(Heard)) == 3


async def test_a_file_waits_and_loses_nothing() -> None:
    seen = Seen()
    source = Blocks(UTTERANCE * 8, live=False)
    source.close()

    async with listen(source, Words(), Replies(), seen, queue=1) as listening:
        with anyio.fail_after(60):
            await listening.finished()

    assert len(seen.only(AnswerEnded)) == 8
    assert not seen.only(Dropped)
    assert not seen.only(Interrupted)


@pytest.mark.long
async def test_memory_does_not_grow_with_speech_that_nobody_serves() -> None:
    seen, gate = Seen(), anyio.Event()

    async def wait(_: int) -> None:
        await gate.wait()

    source = Blocks()
    async with listen(source, Words(wait), Replies(), seen, queue=2):
        source.say([SPEECH] * 1000)  # eight utterances of four seconds, without a pause
        await seen.wait_for(Dropped, 5)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for more in range(1, 4):
            source.say([SPEECH] * 1000)
            await seen.wait_for(Dropped, 5 + 8 * more)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert after - before < 1_000_000  # what was said takes three times as much as is allowed


@pytest.mark.parametrize("kind", [VoiceError, RuntimeError])
async def test_a_recogniser_that_raises_is_told_of_and_listening_goes_on(kind: type[Exception]) -> None:
    seen = Seen()

    async def fail_first(number: int) -> None:
        if number == 1:
            raise VoiceError("engine", "it is ill") if kind is VoiceError else RuntimeError("it is ill")

    source = Blocks(UTTERANCE * 2, live=False)
    source.close()
    async with listen(source, Words(fail_first), Replies(), seen) as listening:
        await listening.finished()

    [failure] = seen.only(Failed)
    assert failure.part == "recognition"
    assert "it is ill" in failure.reason
    assert [event.text for event in seen.only(Heard)] == ["command 2"]


async def test_a_recogniser_that_hangs_is_stopped_and_listening_goes_on() -> None:
    seen = Seen()

    async def hang_first(number: int) -> None:
        if number == 1:
            await anyio.sleep_forever()

    source = Blocks(UTTERANCE * 2, live=False)
    source.close()
    async with listen(source, Words(hang_first), Replies(), seen, recognition_timeout=0.1) as listening:
        with anyio.fail_after(60):
            await listening.finished()

    assert seen.only(Failed) == [Failed("recognition", "it took longer than 0.1 s and was stopped")]
    assert [event.text for event in seen.only(Heard)] == ["command 2"]


async def test_loading_a_model_is_not_part_of_the_limit() -> None:
    """On a busy machine it takes longer than any utterance; what was said meanwhile is understood all the same."""
    limit, seen, loaded = 0.1, Seen(), anyio.Event()

    class Slow(Words):
        async def prepare(self) -> None:
            with anyio.move_on_after(3 * limit):
                await anyio.sleep_forever()
            loaded.set()

    async def wait_for_the_model(_number: int) -> None:
        await loaded.wait()

    source = Blocks(UTTERANCE, live=False)
    source.close()
    async with listen(source, Slow(wait_for_the_model), Replies(), seen, recognition_timeout=limit) as listening:
        await listening.finished()

    assert [event.text for event in seen.only(Heard)] == ["command 1"]
    assert not seen.only(Failed)


async def test_answers_that_fail_are_told_of_and_listening_goes_on() -> None:
    seen = Seen()
    count = 0

    async def fail_first() -> None:
        nonlocal count
        count += 1
        if count == 1:
            raise ConnectionError("nobody there")

    source = Blocks(UTTERANCE * 2, live=False)
    source.close()
    async with listen(source, Words(), Replies(fail_first), seen) as listening:
        await listening.finished()

    assert seen.only(Failed) == [Failed("answer", "ConnectionError: nobody there")]
    assert len(seen.only(AnswerEnded)) == 2


async def test_a_voice_that_fails_does_not_take_the_answer_with_it() -> None:
    seen = Seen()

    async def fail() -> None:
        raise VoiceError("the loudspeaker", "it was pulled out")

    source = Blocks(UTTERANCE, live=False)
    source.close()
    replies = Replies()
    async with listen(source, Words(), replies, seen, speaker=Voice(fail)) as listening:
        await listening.finished()

    assert seen.only(Failed) == [Failed("speech", "the loudspeaker: it was pulled out.")]
    assert replies.ended == ["whole"]


async def test_speech_without_words_is_not_answered() -> None:
    class Nothing(Words):
        async def transcribe(self, audio: bytes) -> Transcript:
            return Transcript("  ", "nothing")

    seen, replies = Seen(), Replies()
    source = Blocks(UTTERANCE, live=False)
    source.close()
    async with listen(source, Nothing(), replies, seen) as listening:
        await listening.finished()

    assert seen.only(NotUnderstood) == [NotUnderstood()]
    assert replies.asked == []


async def test_a_source_that_breaks_is_raised_to_its_owner_after_what_was_heard_is_answered() -> None:
    class Broken(Blocks):
        async def pieces(self) -> AsyncGenerator[bytes, None]:
            for block in UTTERANCE:
                yield block
            raise VoiceError("the microphone", "the device stopped")

    seen = Seen()
    async with listen(Broken(), Words(), Replies(), seen) as listening:
        with pytest.raises(VoiceError, match="the device stopped"), anyio.fail_after(60):
            await listening.finished()

    assert len(seen.only(AnswerEnded)) == 1


async def test_closing_in_the_middle_leaves_no_process_and_no_task(tmp_path: Path) -> None:
    tasks = asyncio.all_tasks()
    async with IsolateHost() as host:

        class Hanging(IsolatedRecogniser):
            name, module, library = "hanging", str(ENGINE), "numpy"

            async def prepare(self) -> None:
                pass

            async def transcribe(self, audio: bytes) -> Transcript:
                await self.call("transcribe", audio=audio, folder=str(tmp_path))
                raise AssertionError

        hanging = Hanging(host)
        async with listen(Blocks(UTTERANCE), hanging, Replies(), Seen()):
            with anyio.fail_after(60):
                while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
                    await anyio.sleep(0.01)

        assert host.idle_pids() == []
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
    assert asyncio.all_tasks() == tasks


def test_no_thread_is_left_when_the_event_loop_ends() -> None:
    before = set(threading.enumerate())

    async def listen_for_a_moment() -> None:
        seen = Seen()
        async with listen(Blocks(UTTERANCE), Words(forever), Replies(), seen):
            await seen.wait_for(SpeechBegan)

    asyncio.run(listen_for_a_moment())

    for thread in set(threading.enumerate()) - before:  # told to end, as the event loop was
        thread.join(60)
        assert not thread.is_alive()


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with listen(Blocks(UTTERANCE), Words(forever), Replies(), Seen()):
            raise KeyError("mine")
