"""Where the log goes, and what does not go into it."""

from __future__ import annotations

import io
import logging
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_core import TRACE, mcp_log


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Leave the process's log as it was."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    levels = {name: logging.getLogger(name).level for name in ("mcp_core", "studio")}
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_lines_go_to_stderr_and_nothing_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    mcp_log.configure(level="trace")

    logging.getLogger("mcp_core.tools").log(TRACE, "Tool called: %s", "paint")

    output = capsys.readouterr()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z TRACE   mcp_core.tools Tool called: paint\n", output.err
    )
    assert output.out == ""


def test_a_handler_that_writes_to_stdout_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))
    mcp_log.configure()

    logging.getLogger("elsewhere").warning("careful")

    assert capsys.readouterr().out == ""


def test_a_file_is_written_that_only_the_owner_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "logs" / "server.log"
    mcp_log.configure("studio", level="debug", file=file)

    logging.getLogger("studio.paint").debug("done ☃")

    assert file.read_text().endswith(" DEBUG   studio.paint done ☃\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert capsys.readouterr().err == ""


def test_our_levels_hold_for_our_packages_and_warnings_for_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    mcp_log.configure("studio", level="debug")

    for name in ("mcp_core.tools", "studio", "elsewhere"):
        logging.getLogger(name).log(TRACE, "trace")
        logging.getLogger(name).debug("debug")
        logging.getLogger(name).warning("warning")

    words = [line.split()[1:] for line in capsys.readouterr().err.splitlines()]
    assert words == [
        ["DEBUG", "mcp_core.tools", "debug"],
        ["WARNING", "mcp_core.tools", "warning"],
        ["DEBUG", "studio", "debug"],
        ["WARNING", "studio", "warning"],
        ["WARNING", "elsewhere", "warning"],
    ]


def test_configuring_again_replaces_the_handler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mcp_log.configure(file=tmp_path / "first.log")
    mcp_log.configure()

    logging.getLogger("mcp_core").warning("once")

    assert (tmp_path / "first.log").read_text() == ""
    assert capsys.readouterr().err.count("once") == 1


def test_secrets_are_masked_at_any_depth_also_in_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    redactor = mcp_log.configure(secrets=["correct horse"])
    redactor.learn("battery staple")

    logging.getLogger("mcp_core").warning("sent %s to %s", {"a": [{"token": {"x": "abc123"}}]}, "correct horse")
    logging.getLogger("mcp_core").warning("sent %(password)s", {"password": "hunter22"})
    try:
        raise ValueError("password=hunter22 battery staple")
    except ValueError:
        logging.getLogger("mcp_core").exception("failed")

    text = capsys.readouterr().err
    assert "sent {'a': [{'token': ***}]} to ***" in text
    assert "ValueError: password=*** ***" in text
    assert not [secret for secret in ("abc123", "hunter22", "horse", "staple") if secret in text]


def test_a_log_that_cannot_be_written_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError("no space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    mcp_log.configure()

    logging.getLogger("mcp_core").warning("lost")
