"""The log of a team's server: nothing of what people's tools read and write, no warning of what their code does wrong."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from ot.apps import Apps
from ot.clients.person import serving
from ot.logs import write_log
from ot.text.log_text import without_messages
from tests.team.people import ALICE, answer, opened

pytestmark = pytest.mark.anyio

SECRET = "plan-of-alice"


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Apps]:
    async with opened(tmp_path_factory.mktemp("team"), "packs: {demo: {enabled: true}}\n", patience=0.2) as apps:
        yield apps


@pytest.mark.parametrize(
    "command",
    [
        f"demo.upper(txt='{SECRET}')",
        f"demo.nothing(text='{SECRET}')",
        f"demo.upper('{SECRET}')\nraise KeyError('{SECRET}')",
        f"notes.read(title='{SECRET}')",
        "import time\ntime.sleep(1.5)\n1",
    ],
    ids=["arguments", "no such tool", "own error", "a tool's own word", "slow"],
)
async def test_what_code_does_wrong_is_no_warning(team: Apps, command: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="ot"), serving(ALICE):
        told = await answer(team, ALICE, command)
        if "still running" in told:
            run = told.partition("Run ")[2].split()[0]
            told = await answer(team, ALICE, f"ot.wait(run={run!r}, seconds=60)")

    assert SECRET not in caplog.text
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_tool_that_breaks_is_an_error_with_its_place_and_without_its_message(
    team: Apps, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="ot"), serving(ALICE):
        told = await answer(team, ALICE, f"demo.fail(message='{SECRET}')")

    [failure] = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert SECRET in told
    assert failure.splitlines()[-1] == "ValueError"
    assert ", in fail" in failure
    assert SECRET not in caplog.text


def test_the_words_of_other_programs_are_left_out_of_a_teams_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ot"), serving(ALICE):
        write_log(logging.WARNING, "proxy.failed", server="x", detail=f"cannot open {SECRET}\n  {SECRET}")

    assert SECRET not in caplog.text
    assert "proxy.failed server=x" in caplog.text


def test_a_traceback_keeps_types_and_places() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "a.py", line 3, in f\n'
        "    return open(name)\n"
        "           ~~~~^^^^^^\n"
        "app.errors.OddError: no plan\nof alice\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "b.py", line 4, in g\n'
        "KeyError: 'plan'\n"
    )

    assert without_messages(text).splitlines() == [
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    return open(name)",
        "app.errors.OddError",
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        '  File "b.py", line 4, in g',
        "KeyError",
    ]
