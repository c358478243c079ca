"""WAV files of every kind become the one form of audio; broken ones give what they have, or a clear error."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest

from ot.errors import VoiceError
from ot.execution.wording import word_error
from ot_voice.audio import Resampler, read_samples, write_wav
from ot_voice.sources import WavSource

TONE = 440  # Hz


def tone(rate: int, seconds: float = 1.0, frequency: float = TONE) -> Any:
    return 0.5 * numpy.sin(2 * numpy.pi * frequency * numpy.arange(int(rate * seconds)) / rate)


def make_wav(
    samples: Any, rate: int, *, kind: int = 1, bits: int = 16, channels: int = 1, extensible: bool = False
) -> bytes:
    """A WAV file, whatever a recorder may write."""
    frames = numpy.repeat(samples[:, None], channels, axis=1)
    if kind == 3:
        data = frames.astype("<f4" if bits == 32 else "<f8").tobytes()
    elif bits == 8:
        data = (frames * 127 + 128).round().astype("u1").tobytes()
    elif bits == 24:
        wide = (frames * 8388607).round().astype("<i4")
        data = wide.tobytes() if not wide.size else wide.view("u1").reshape(-1, 4)[:, :3].tobytes()
    else:
        data = (frames * (2 ** (bits - 1) - 1)).round().astype(f"<i{bits // 8}").tobytes()
    form = struct.pack("<HHIIHH", 0xFFFE if extensible else kind, channels, rate, 0, channels * bits // 8, bits)
    if extensible:
        form += struct.pack("<HHIH", 22, bits, 0, kind) + bytes(14)
    chunks = b"LIST" + struct.pack("<I", 3) + b"abc\0"  # an odd length is padded
    chunks += b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def read_all(wav: bytes) -> Any:
    pieces = list(read_samples(io.BytesIO(wav), "a.wav"))
    resampler = Resampler(pieces[0][0].rate)
    audio = b"".join(resampler.feed(samples) for _, samples in pieces) + resampler.finish()
    return numpy.frombuffer(audio, "<i2") / 32767


@pytest.mark.parametrize("rate", [8000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_any_rate_becomes_the_same_tone(rate: int) -> None:
    heard = read_all(make_wav(tone(rate), rate))

    assert len(heard) == pytest.approx(16_000, abs=2)
    assert abs(heard[300:-300] - tone(16_000)[300 : len(heard) - 300]).max() < 0.001


@pytest.mark.parametrize(
    "form",
    [
        {"bits": 8},
        {"bits": 24},
        {"bits": 32},
        {"kind": 3, "bits": 32},
        {"kind": 3, "bits": 64},
        {"channels": 2},
        {"channels": 6, "bits": 24, "extensible": True},
        {"kind": 3, "bits": 32, "extensible": True},
    ],
    ids=str,
)
def test_any_width_and_number_of_channels_becomes_the_same_tone(form: dict[str, Any]) -> None:
    heard = read_all(make_wav(tone(16_000), 16_000, **form))

    assert abs(heard - tone(16_000)).max() < (0.02 if form.get("bits") == 8 else 0.001)


def test_what_the_lower_rate_cannot_carry_does_not_come_back_as_another_tone() -> None:
    assert abs(read_all(make_wav(tone(44_100, frequency=9500), 44_100))[500:-500]).max() < 0.001


def test_a_truncated_file_gives_what_it_has() -> None:
    whole = make_wav(tone(16_000), 16_000, channels=2)

    assert len(read_all(whole[: len(whole) // 2 + 1])) == pytest.approx(8000, abs=50)


@pytest.mark.parametrize("claimed", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_a_streamed_file_is_read_to_its_end(claimed: int) -> None:
    whole = make_wav(tone(16_000), 16_000)
    at = whole.index(b"data") + 4

    assert len(read_all(whole[:at] + struct.pack("<I", claimed) + whole[at + 4 :])) == 16_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"RIFF", "this is not a WAV file"),
        (b"ID3\x04" + bytes(100), "this is not a WAV file"),
        (b"RIFF" + bytes(4) + b"WAVE", "the WAV file ends before its samples"),
        (b"RIFF" + bytes(4) + b"WAVEdata" + bytes(8), "its samples come before their format"),
        (b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<I", 4) + bytes(4), "the WAV file's format is cut short"),
        (make_wav(tone(8000), 8000)[:28] + b"\x55" + make_wav(tone(8000), 8000)[29:], None),
        (make_wav(tone(8000), 8000).replace(struct.pack("<HHI", 1, 1, 8000), struct.pack("<HHI", 1, 0, 8000)), None),
        (make_wav(tone(8000), 8000).replace(struct.pack("<HHI", 1, 1, 8000), struct.pack("<HHI", 1, 1, 0)), None),
        (make_wav(tone(8000), 8000).replace(struct.pack("<HHI", 1, 1, 8000), struct.pack("<HHI", 7, 1, 8000)), None),
    ],
    ids=["empty", "head", "mp3", "no chunks", "no format", "short format", "kind", "channels", "rate", "mu-law"],
)
def test_what_is_no_wav_is_refused_by_name(content: bytes, reason: str | None) -> None:
    with pytest.raises(VoiceError) as refused:
        list(read_samples(io.BytesIO(content), "a.wav"))

    assert refused.value.part == "a.wav"
    assert reason is None or refused.value.reason == reason


def test_a_chunk_that_claims_gigabytes_costs_no_memory() -> None:
    with pytest.raises(VoiceError, match="ends before its samples"):
        list(read_samples(io.BytesIO(b"RIFF\0\0\0\0WAVEjunk\xff\xff\xff\xff" + bytes(100)), "a.wav"))


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(VoiceError) as refused:
        [piece async for piece in WavSource(tmp_path / "none.wav").pieces()]

    assert word_error(refused.value) == f"{tmp_path / 'none.wav'}: cannot be read: No such file or directory."


def test_what_we_write_can_be_read() -> None:
    audio = (tone(16_000) * 32767).round().astype("<i2").tobytes()

    assert abs(read_all(write_wav(audio)) - tone(16_000)).max() < 0.0001
