"""Recorded calls of a skill's example, as they lie beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.effects import Effect
from ot.errors import NewSkillError
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.skills.recording import Recording, read_recording, recording_of, write_recording
from ot.store.parts import Place

LARGE = RecordedCall(
    1, "mail.list", Effect.READS, 5.0, "0f", {"box": "in"}, None, CallOutcome.VALUE, None, ("f", 0, 3), has_value=True
)
FAILED = RecordedCall(
    2, "mail.send", Effect.UNKNOWN, 6.0, "1f", {}, outcome=CallOutcome.ERROR, error="no", kind="OSError"
)


def gone(_: Place) -> bytes:
    raise FileNotFoundError


def test_what_is_written_is_read_again_with_large_values_and_without_digests(tmp_path: Path) -> None:
    skill = tmp_path / "weekly.py"
    written = Recording("skills.weekly()", "done", (LARGE, FAILED), {"mail.list": "ab"})

    write_recording(skill, written, lambda _: b"[1]")
    read = read_recording(skill)

    assert read is not None
    assert (read.example, read.answer, read.definitions) == (*written[:2], written.definitions)
    assert [(call.tool, call.value, call.value_at, call.digest) for call in read.calls] == [
        ("mail.list", [1], None, ""),
        ("mail.send", None, None, ""),
    ]
    assert (read.calls[1].error, read.calls[1].kind) == ("no", "OSError")
    assert read_recording(tmp_path / "other.py") is None


def test_what_is_no_longer_kept_or_too_large_is_not_written(tmp_path: Path) -> None:
    for fetch in (gone, lambda _: b'"' + b"a" * 6_000_000 + b'"'):
        with pytest.raises(NewSkillError):
            write_recording(tmp_path / "weekly.py", Recording("", "", (LARGE,), {}), fetch)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 2}', '{"version": 1, "calls": [{"call": 1}]}', "\udcff"])
def test_a_recording_that_makes_no_sense_is_refused(tmp_path: Path, content: str) -> None:
    recording_of(tmp_path / "weekly.py").write_text(content, errors="surrogateescape")

    with pytest.raises(ValueError, match=r"it is invalid|version"):
        read_recording(tmp_path / "weekly.py")
