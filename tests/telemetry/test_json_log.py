"""The log as JSON objects: nothing secret in any of their texts, one a line, and `onetool logs` reads them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from onetool.log_entries import read_entries
from ot.logs import configure_logging, write_log
from ot.text.redaction import Redactor

SECRET = 'say "friend"\nand enter'


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "log"
    configure_logging("info", file, redact=Redactor([SECRET]).text, tell=lambda: {"trace_id": "ab12"})
    yield file
    configure_logging("info", None, redact=str)


def test_secrets_are_taken_out_before_anything_is_quoted(log: Path) -> None:
    write_log(
        logging.WARNING, "part.action", word=SECRET, many=[SECRET], long="x" * 150 + SECRET * 9, detail=f"at {SECRET}"
    )
    logging.getLogger("other").warning("it said %s", SECRET)

    lines = log.read_text().splitlines()
    own, foreign = map(json.loads, lines)
    mark = own["fields"]["word"]
    assert own["detail"] == f"at {mark}"
    assert (foreign["name"], foreign["message"]) == ("other", f"it said {mark}")
    assert "friend" not in "".join(lines)
    assert own["trace_id"] == "ab12"


def test_the_entries_can_be_read_again_with_their_incident(log: Path) -> None:
    write_log(logging.ERROR, "executor.failure", incident="0123abcd", tool="x.y", ms=1.5, detail="Traceback\n  line")

    [entry] = read_entries(iter(log.read_text().splitlines()))

    assert (entry.level, entry.name, entry.incident) == ("ERROR", "executor.failure", "0123abcd")
    assert entry.detail == "Traceback\n  line"
    assert "ms=1.5" in entry.text
