"""A spoken command, all the way: a WAV, the speech in it, its words, a model that calls `run`, OneTool, the Z-Wave
server, until the light of the simulated house reports that it is on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ot_voice.audio import write_wav
from tests.models.servers import ScriptedServer, scripted_server
from tests.voice.spoken_audio import in_a_room, speak
from tests.zwave_house import ZwaveHouse

PROGRAM = Path(sys.executable).with_name("zwave-mcp")
LIGHT, SWITCH = 2, 0x25
CONFIG = """\
voice: {{recognition_timeout: 90}}
ai: {{provider: ollama, retries: 0, ollama: {{host: "{model}"}}}}
servers:
  zwave: {{command: "{program}", env: {{ZWAVE_URL: "{zwave}"}}}}
"""


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ScriptedServer]:
    folder = tmp_path / "fixtures"
    folder.mkdir()
    with scripted_server(folder) as server:
        yield server


def wait_for_light(house: ZwaveHouse, *, on: bool) -> None:
    deadline = time.monotonic() + 60
    while house.read(LIGHT, SWITCH, "currentValue") is not on:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.xdist_group("zwave")
@pytest.mark.scenario("executor/ai-client-integration/backgroundtranscriber-tool-execution")
@pytest.mark.long
def test_a_spoken_command_turns_on_the_light(tmp_path: Path, zwave_house: ZwaveHouse, model: ScriptedServer) -> None:
    target = {"commandClass": SWITCH, "endpoint": 0, "property": "targetValue"}
    zwave_house.ask("node.set_value", nodeId=LIGHT, valueId=target, value=False)
    wait_for_light(zwave_house, on=False)
    code = "zwave.switch(device='Kitchen Light', on=True)"
    heard = {"userMessage": "turn on the Kitchen Light"}  # the device's own name: only live names can spell it so
    model.answer({**heard, "hasToolResult": False}, {"toolCalls": [{"name": "run", "arguments": {"command": code}}]})
    model.answer({**heard, "hasToolResult": True}, {"content": "The **kitchen light** is on."})
    wav = tmp_path / "command.wav"
    wav.write_bytes(write_wav(in_a_room(speak("turn on the kitchen light", "espeak-us"))))
    config = tmp_path / "onetool.yaml"
    config.write_text(CONFIG.format(model=model.url, program=PROGRAM, zwave=zwave_house.url))

    listened = subprocess.run(
        [
            sys.executable,
            "-m",
            "onetool",
            "listen",
            "--config",
            config,
            "--wav",
            wav,
            "--speak-to",
            tmp_path / "spoken",
        ],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert listened.returncode == 0, listened.stderr
    assert listened.stdout.splitlines() == ["> turn on the Kitchen Light", "The **kitchen light** is on."]
    assert "zwave.switch(device='Kitchen Light', on=True)" in listened.stderr
    assert zwave_house.read(LIGHT, SWITCH, "currentValue") is True
    assert [file.name for file in (tmp_path / "spoken").iterdir()] == ["spoken-0001.wav"]
