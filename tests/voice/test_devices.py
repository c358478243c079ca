"""Microphone and loudspeaker through PortAudio: devices that are files, which ALSA takes for real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.voice.spoken_audio import in_a_room, speak

PROGRAM = Path(__file__).parents[1] / "programs/voice/use_devices.py"
DEVICES = """\
pcm.room {{
  type file
  slave.pcm null
  file "{loudspeaker}"
  infile "{microphone}"
  format raw
  hint {{ show on description "room" }}
}}
pcm.null {{ type null }}
pcm.!default {{ type plug slave.pcm room hint {{ show on description "room" }} }}
"""


def use_devices(folder: Path, devices: str) -> subprocess.CompletedProcess[str]:
    (folder / "asound.conf").write_text(devices)
    return subprocess.run(
        [sys.executable, PROGRAM, folder / "said"],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "ALSA_CONFIG_PATH": str(folder / "asound.conf")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.long
def test_what_the_microphone_hears_arrives_and_what_is_played_reaches_the_loudspeaker(tmp_path: Path) -> None:
    (tmp_path / "heard").write_bytes(in_a_room(speak("turn on the kitchen light")))
    said = speak("the kitchen light is on")
    (tmp_path / "said").write_bytes(said)

    used = use_devices(tmp_path, DEVICES.format(microphone=tmp_path / "heard", loudspeaker=tmp_path / "played"))

    assert used.stdout == "heard True\nplayed\n", used.stderr
    assert said in (tmp_path / "played").read_bytes()
