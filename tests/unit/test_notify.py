"""Messages to topics: whole documents in the right file, or none."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ot.config.models import TopicSettings
from ot.errors import ToolError
from ot.notify import append_message, find_topic, write_document

NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


@given(st.text(alphabet=st.characters(codec="utf-8")), st.text(alphabet=st.characters(codec="utf-8")))
def test_any_message_is_one_document_that_reads_back(topic: str, message: str) -> None:
    text = write_document(topic, message, NOW).decode()

    (document,) = yaml.safe_load_all(text)
    assert document == {"topic": topic, "time": "2024-05-06T07:08:09.000+00:00", "message": message}


def test_text_of_several_lines_stays_readable() -> None:
    text = write_document("notes", "first\n---\nsecond: line\n", NOW).decode()

    assert text.endswith("message: |\n  first\n  ---\n  second: line\n")


def test_the_first_pattern_that_fits_has_the_message() -> None:
    topics = [TopicSettings(pattern="build:*", file=Path("/b")), TopicSettings(pattern="*", file=Path("/rest"))]

    assert find_topic(topics, "build:failed") is topics[0]
    assert find_topic(topics, "Build:failed") is topics[1]
    assert find_topic(topics[:1], "notes") is None


def test_a_new_file_is_closed_to_others_and_its_folder_is_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "notes.yaml"

    append_message(file, "notes", "one")
    append_message(file, "notes", "two")

    assert [each["message"] for each in yaml.safe_load_all(file.read_text())] == ["one", "two"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_stands_there_without_a_line_break_is_not_run_into(tmp_path: Path) -> None:
    file = tmp_path / "notes.yaml"
    file.write_text("a: 1")

    append_message(file, "notes", "two")

    assert [each.get("a") for each in yaml.safe_load_all(file.read_text())] == [1, None]


def test_a_document_that_cannot_be_written_whole_is_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "notes.yaml"
    append_message(file, "notes", "before")
    before = file.read_text()
    code = (
        "import resource, sys, pathlib\nfrom ot.notify import append_message\nfrom ot.errors import ToolError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: append_message(pathlib.Path(sys.argv[1]), 'notes', 'x' * 5000)\n"
        "except ToolError as error: print(error)"
    )

    said = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True).stdout

    assert said == f"cannot write to {file}: File too large\n"
    assert file.read_text() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "inside a file"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "it"
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_text("")
        file /= "notes.yaml"

    with pytest.raises(ToolError, match=str(file)):
        append_message(file, "notes", "x")


def test_a_file_that_somebody_holds_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "notes.yaml"
    monkeypatch.setattr("ot.notify.PATIENCE", 0.05)
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ToolError, match="another program holds"):
            append_message(file, "notes", "x")


def test_a_message_of_a_megabyte_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="1,000,001 characters"):
        append_message(tmp_path / "notes.yaml", "notes", "x" * 1_000_001)
