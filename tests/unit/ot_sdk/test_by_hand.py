"""An extension that a person runs: as a small command line, and over pipes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import ot_confinement
import ot_guardian
import ot_sdk
from ot.processes.sdk_folder import sdk_folder
from ot_kernel import values

SOURCE = '''
import os, sys, time
import ot_sdk

def add(*, a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b

async def later(*, text: str) -> str:
    """Give it back."""
    return text

def slow(*, value: int) -> int:
    time.sleep(0.2)
    print("this is on stderr")
    return value

def fail() -> None:
    raise ot_sdk.ToolError("it is like that")

def bad() -> object:
    return object()

def unlike_json() -> object:
    return [b"x", {1}]

def secret() -> str:
    return ot_sdk.secret("OT_TEST_KEY")

def facts() -> list:
    ot_sdk.progress(1, 2, "ignored")
    ot_sdk.log.warning("careful")
    return [dict(ot_sdk.config())]

def ask() -> str:
    return ot_sdk.call("file.read", path="x")

if __name__ == "__main__":
    ot_sdk.serve()
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "sample.py"
    file.write_text(dedent(SOURCE))
    return file


def run(
    file: Path, *words: str, stdin: str = "", environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    sdk = sdk_folder(file.parent / "state")
    return subprocess.run(
        [sys.executable, "-S", str(file), *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        env={"PYTHONPATH": str(sdk), **(environ or {})},
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["add", "a=2"], "3\n"),
        (["add", "a=2", "b=40"], "42\n"),
        (["later", "text=plain words"], "plain words\n"),
        (["later", 'text="42"'], "42\n"),
        (["facts"], "[\n  {}\n]\n"),
        (["unlike_json"], "[b'x', {1}]\n"),
    ],
    ids=["one argument", "two arguments", "text", "text that is JSON", "nothing configured", "not JSON"],
)
def test_a_tool_is_called_from_the_command_line(file: Path, words: list[str], printed: str) -> None:
    done = run(file, *words)

    assert (done.returncode, done.stdout) == (0, printed)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (
            ["absent"],
            2,
            "there is no tool absent; the tools are add, later, slow, fail, bad, unlike_json, secret, facts, ask",
        ),
        (["add", "a"], 1, "'a' is not of the form name=value"),
        (["fail"], 1, "it is like that"),
        (["bad"], 1, "the result: a value of type object cannot be passed"),
        (["secret"], 1, "the secret OT_TEST_KEY is not set"),
        (["ask"], 1, "the file was started by hand, without a server"),
    ],
    ids=["unknown tool", "no value", "tool error", "not JSON", "no secret", "no server"],
)
def test_what_goes_wrong_is_one_line_on_stderr(file: Path, words: list[str], status: int, told: str) -> None:
    done = run(file, *words)

    assert done.returncode == status
    assert done.stdout == ""
    assert told in done.stderr


def test_a_secret_is_the_environment_variable_of_its_name(file: Path) -> None:
    assert run(file, "secret", environ={"OT_TEST_KEY": "abc"}).stdout == "abc\n"


def test_help_lists_the_tools(file: Path) -> None:
    shown = run(file, "--help").stdout

    assert "add(*, a: int, b: int = 1) -> int  Add two numbers." in shown
    assert "later(*, text: str) -> str  Give it back." in shown


def test_calls_over_a_pipe_are_all_answered_before_it_ends(file: Path) -> None:
    calls: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"tool": "slow", "arguments": {"value": 1}}},
        {"jsonrpc": "2.0", "id": 2, "method": "call", "params": {"tool": "later", "arguments": {"text": "x"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "call", "params": {"tool": "absent", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 4, "method": "call", "params": {"tool": "slow", "arguments": {"value": 4}}},
    ]

    done = run(file, stdin="".join(f"{json.dumps(call)}\n" for call in calls))

    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert {number: answer.get("result") for number, answer in answers.items()} == {1: 1, 2: "x", 3: None, 4: 4}
    assert answers[3]["error"]["message"] == "the file has no function absent"
    assert done.stderr.count("this is on stderr") == 2


def test_every_name_of_the_sdk_is_there() -> None:
    assert all(hasattr(ot_sdk, name) for name in ot_sdk.__all__)
    with pytest.raises(AttributeError, match="it has Audio, CallCancelled, Image, Resource, ToolError"):
        ot_sdk.colour  # noqa: B018


def test_the_sdk_is_written_for_python_39() -> None:
    for package in (ot_sdk.__file__, ot_guardian.__file__, ot_confinement.__file__):
        for source in (*Path(package).parent.glob("*.py"), Path(values.__file__)):
            ast.parse(source.read_text(), feature_version=(3, 9))


def test_the_folder_holds_nothing_but_the_sdk(tmp_path: Path) -> None:
    folder = sdk_folder(tmp_path)

    assert {item.name for item in folder.iterdir()} == {
        "ot_confinement",
        "ot_guardian",
        "ot_kernel",
        "ot_sdk",
        "ot_system",
    }
    assert sdk_folder(tmp_path) == folder


def test_a_folder_whose_link_leads_nowhere_is_mended(tmp_path: Path) -> None:
    link = sdk_folder(tmp_path) / "ot_sdk"
    link.unlink()
    link.symlink_to(tmp_path / "absent")

    assert (sdk_folder(tmp_path) / "ot_sdk" / "server.py").exists()
