"""The program that hears of questions: what it is given, and that it holds nobody up."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.clients.caller import Choice
from ot.run.ask_command import tell_program
from ot.run.client_requests import OpenQuestion
from tests.e2e.processes import wait_until_gone

pytestmark = pytest.mark.anyio

QUESTION = OpenQuestion("r2345678", "1", "Allow this call?\n\nmail.send \udc80", tuple(Choice), "editor", 0.0, 600.0)


async def test_it_is_given_the_question_as_text(tmp_path: Path) -> None:
    script = 'cat > told; echo "$ONETOOL_RUN $ONETOOL_CLIENT" >> told'
    await tell_program(["sh", "-c", script], QUESTION, "with `onetool approve r2345678`", tmp_path)

    first, *_, last = (tmp_path / "told").read_text().splitlines()
    assert first == "editor asks in run r2345678. Answer with `onetool approve r2345678`."
    assert "mail.send" in (tmp_path / "told").read_text()
    assert last == "r2345678 editor"


async def test_one_that_does_not_end_is_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    script = "echo $$ > pid.new; mv pid.new pid; sleep 600"
    await tell_program(["sh", "-c", script], QUESTION, "somewhere", tmp_path, limit=0.5)

    if (tmp_path / "pid").exists():  # on a busy machine it may not have begun
        wait_until_gone({int((tmp_path / "pid").read_text())})
    assert "it was ended after 0.5 s" in caplog.text


@pytest.mark.parametrize(
    ("command", "said"), [(["sh", "-c", "echo oh >&2; exit 3"], "oh"), (["/no/such/program"], "ask.command")]
)
async def test_one_that_fails_is_told_of_in_the_log(
    command: list[str], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await tell_program(command, QUESTION, "somewhere", tmp_path)

    assert said in caplog.text
