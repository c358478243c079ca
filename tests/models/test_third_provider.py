"""A third provider is one folder: the configuration, the commands, keys and failover learn of it from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OneTool with one folder more."""
    folder = tmp_path_factory.mktemp("onetool") / "src"
    shutil.copytree(TESTS.parent / "src", folder)
    shutil.copytree(TESTS / "programs" / "parrot", folder / "ot" / "ai" / "providers" / "parrot")
    return folder


def chat(source: Path, folder: Path, ai: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Ask one question of `onetool chat` in a pipe."""
    (folder / ".onetool").mkdir()
    (folder / ".onetool/onetool.yaml").write_text(f"ai: {ai}\n")
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(source), **variables}
    command = [sys.executable, "-m", "onetool", "chat", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input="hello", capture_output=True, text=True, check=False, timeout=120
    )


def test_it_answers_with_its_own_settings_and_key(source: Path, tmp_path: Path) -> None:
    answer = chat(source, tmp_path, "{provider: Parrot, parrot: {volume: loud}}", "--model", "green", PARROT_SEED="nut")

    assert (answer.stdout.strip(), answer.returncode) == ("hello (green, loud, fed nut)", 0), answer.stderr


def test_without_its_key_the_secret_and_the_setting_are_named(source: Path, tmp_path: Path) -> None:
    answer = chat(source, tmp_path, "{provider: ollama, failover: parrot}")

    assert "PARROT_SEED" in answer.stderr
    assert "ai.failover" in answer.stderr
    assert answer.returncode != 0


def test_it_stands_in_for_another_one(source: Path, tmp_path: Path) -> None:
    nobody = "{failover: parrot, retries: 0, ollama: {host: 'http://127.0.0.1:9'}}"

    answer = chat(source, tmp_path, nobody, "--provider", "ollama", PARROT_SEED="seed")

    assert answer.stdout.strip() == "hello (grey, quiet, fed seed)", answer.stderr
    assert "asking parrot instead" in answer.stderr


def test_it_is_among_those_that_can_be_chosen(source: Path, tmp_path: Path) -> None:
    answer = chat(source, tmp_path, "{provider: cockatoo}")

    assert "must be 'anthropic' or 'ollama' or 'openai' or 'parrot'" in answer.stderr
