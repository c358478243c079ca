"""The page about the voice is true."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from onetool.cli import COMMANDS, listen
from ot.config.loader import load_config
from ot_voice.audio import write_wav
from ot_voice.events import AnswerEnded, Heard
from tests.engine import open_engine
from tests.voice.listening_room import Replies, Seen
from tests.voice.spoken_audio import in_a_room, speak

PAGE = (Path(__file__).parents[2] / "docs" / "voice.md").read_text(encoding="utf-8")


def test_the_settings_can_be_loaded(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)\n```", PAGE, re.DOTALL)
    file = tmp_path / ".onetool" / "onetool.yaml"
    file.parent.mkdir()
    file.write_text(text)

    settings = load_config(environ={}, cwd=tmp_path, home=tmp_path).config.voice

    assert (settings.wake_word, settings.vad.min_silence) == ("okay_nabu", 1.0)


def test_every_option_is_listed() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    listen.add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}

    assert set(re.findall(r"`(--[\w-]+)", "".join(re.findall(r"^\|.*$", PAGE, re.MULTILINE)))) == options
    assert "listen" in COMMANDS


@pytest.mark.xdist_group("voice")
@pytest.mark.long
async def test_the_program_answers_a_recording(tmp_path: Path) -> None:
    namespace: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)[-1], namespace)
    example = SimpleNamespace(**namespace)
    wav = tmp_path / "a.wav"
    wav.write_bytes(write_wav(in_a_room(speak("turn on the kitchen light", "flite-rms"))))
    seen = Seen()

    async with open_engine(tmp_path / "engine") as app:
        await example.answer(wav, Replies(), app, seen)

    assert [event.text for event in seen.only(Heard)] == ["turn on the Kitchen Light"]
    assert seen.only(AnswerEnded)
