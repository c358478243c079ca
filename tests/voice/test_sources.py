"""Audio arrives from files and pipes in the same form; pipes are live, files are not."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio
import pytest

from ot.errors import VoiceError
from ot_voice.audio import BLOCK, write_wav
from ot_voice.sources import MicrophoneSource, PcmSource, WavSource, read_blocks

AUDIO = bytes(range(256)) * 400


async def read_all(source: PcmSource | WavSource) -> bytes:
    return b"".join([piece async for piece in source.pieces()])


async def test_raw_samples_of_a_pipe_arrive_whole_however_they_are_cut() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        for start in range(0, len(AUDIO), 777):  # odd: samples are torn apart
            os.write(writing, AUDIO[start : start + 777])
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    source = PcmSource(reading)
    assert source.live
    received = await read_all(source)
    writer.join()
    os.close(reading)

    assert received == AUDIO


async def test_a_stray_byte_at_the_end_is_no_sample() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\1\2\3")
    os.close(writing)

    assert await read_all(PcmSource(reading)) == b"\1\2"
    os.close(reading)


async def test_a_file_on_stdin_is_not_live(tmp_path: Path) -> None:
    file = tmp_path / "a.pcm"
    file.write_bytes(AUDIO)
    descriptor = os.open(file, os.O_RDONLY)

    source = PcmSource(descriptor)

    assert not source.live
    assert await read_all(source) == AUDIO
    os.close(descriptor)


async def test_a_pipe_that_is_ahead_of_the_clock_is_not_live() -> None:
    reading, writing = os.pipe()
    source = PcmSource(reading, clock=lambda: 0.0)

    def write() -> None:
        os.write(writing, bytes(100_000))
        os.close(writing)

    threading.Thread(target=write).start()

    assert len(await read_all(source)) == 100_000
    assert not source.live
    os.close(reading)


async def test_waiting_for_a_silent_pipe_can_be_cancelled() -> None:
    reading, writing = os.pipe()

    with anyio.move_on_after(0.05) as scope, anyio.fail_after(60):
        await read_all(PcmSource(reading))

    assert scope.cancelled_caught
    os.close(writing)
    os.close(reading)


async def test_blocks_are_of_one_size_and_the_last_is_filled(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(write_wav(AUDIO[: 3 * BLOCK + 100]))

    blocks = [block async for block in read_blocks(WavSource(file))]

    assert [len(block) for block in blocks] == [BLOCK] * 4
    assert blocks[3][100:] == bytes(BLOCK - 100)


async def test_a_machine_without_a_microphone_says_so() -> None:
    with pytest.raises(VoiceError, match="cannot be opened"):
        async for _ in MicrophoneSource("no such device").pieces():
            pass
