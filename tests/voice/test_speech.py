"""Sentences are spoken by espeak-ng; whoever stops it has silence, and no process is left."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from ot.errors import VoiceError
from ot.execution.wording import word_error
from ot_voice.audio import RATE, read_samples
from ot_voice.players import EspeakSpeaker, FolderPlayer

SLOW = Path(__file__).parents[1] / "programs/voice/slow_espeak"


class Collected:
    """A player that keeps what it gets."""

    def __init__(self) -> None:
        self.wavs: list[bytes] = []

    async def play(self, wav: bytes) -> None:
        self.wavs.append(wav)


async def wait_for(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not condition():
            await anyio.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


async def test_a_sentence_becomes_sound_of_a_fitting_length() -> None:
    player = Collected()

    await EspeakSpeaker(player).say("The kitchen light is on.")

    [(form, _), *_] = pieces = list(read_samples(io.BytesIO(player.wavs[0]), "spoken"))
    assert (form.rate, form.channels) == (RATE, 1)
    assert 1 < sum(len(samples) for _, samples in pieces) / RATE < 4


@pytest.mark.parametrize("sentence", ["-w /tmp/evil.wav", "--version", "[[h@l'oU]] x", "a" * 2000, "ünï 厨房 \0 x"])
async def test_whatever_a_sentence_is_it_is_only_spoken(
    sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    player = Collected()

    await EspeakSpeaker(player, speed=450).say(sentence)

    assert player.wavs[0].startswith(b"RIFF")
    assert list(tmp_path.iterdir()) == []


async def test_files_are_kept_in_order_where_there_is_no_loudspeaker(tmp_path: Path) -> None:
    speaker = EspeakSpeaker(FolderPlayer(tmp_path / "spoken"))

    await speaker.say("One.")
    await speaker.say("Two.")

    assert sorted(file.name for file in (tmp_path / "spoken").iterdir()) == ["spoken-0001.wav", "spoken-0002.wav"]


async def test_stopped_speech_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW_ESPEAK_FOLDER", str(tmp_path))
    files = [tmp_path / "pid", tmp_path / "child", tmp_path / "apart"]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(EspeakSpeaker(Collected(), program=str(SLOW)).say, "Hello.")
        await wait_for(lambda: all(file.exists() and file.read_text().strip() for file in files))
        tasks.cancel_scope.cancel()

    for file in files:
        pid = int(file.read_text())
        await wait_for(partial(is_gone, pid))


async def test_a_missing_program_is_named_with_the_way_out() -> None:
    with pytest.raises(VoiceError) as refused:
        await EspeakSpeaker(Collected(), program="no-such-program").say("Hello.")

    assert "apt install espeak-ng" in word_error(refused.value)


async def test_an_unknown_voice_is_named() -> None:
    with pytest.raises(VoiceError):
        await EspeakSpeaker(Collected(), voice="klingonish").say("Hello.")
