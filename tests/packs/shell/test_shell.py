"""Programs that a person allows: how they are run, what is told of them, and what is never run."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import NOBODY, Caller, Choice
from ot.errors import ConsentError, PathRefusedError, ToolError
from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import AllowedFiles
from ot_packs.program_output import Captured
from ot_packs.shell import read_rules
from tests.engine import open_engine
from tests.opened_executor import open_executor, wait_until
from tests.packs.answers import agree

BIN = Path(sys.executable).parent
ALLOW = [
    "sh", "env", "echo", "ls", "git status", "xargs *", "tool", "./own", "/bin/pwd", sys.executable, "onetool", "./link",
    f"{BIN}/onetool",
]  # fmt: skip


@pytest.fixture(scope="module")
async def opened() -> AsyncIterator[ToolExecutor]:
    config = {"packs": {"shell": {"enabled": True, "allow": ALLOW}}}
    async with open_executor(config=config) as opened:
        yield opened.executor


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project" / "sub").mkdir(parents=True)
    return tmp_path / "home" / "project"


@pytest.fixture
def executor(opened: ToolExecutor, project: Path) -> ToolExecutor:
    opened.lend(AllowedFiles([project], project=project, home=project.parent))
    return opened


async def run(executor: ToolExecutor, *argv: str, caller: Caller = Caller(ask=agree), **options: Any) -> Any:  # noqa: B008
    return await executor.call("shell.run", {"argv": list(argv), **options}, caller=caller)


async def test_a_program_is_run_in_the_project(executor: ToolExecutor, project: Path) -> None:
    ended = await run(executor, "sh", "-c", "pwd; cat; echo wrong >&2; exit 3")

    assert ended == {
        "argv": ["sh", "-c", "pwd; cat; echo wrong >&2; exit 3"],
        "cwd": str(project),
        "status": 3,
        "timed_out": False,
        "stdout": f"{project}\n",
        "stderr": "wrong\n",
        "cut": False,
    }


async def test_words_are_not_read_by_a_shell(executor: ToolExecutor) -> None:
    ended = await run(executor, "echo", "$HOME; ls | cat", "`id`", "*", cwd="sub")

    assert ended["stdout"] == "$HOME; ls | cat `id` *\n"


async def test_the_person_is_shown_what_is_run(executor: ToolExecutor, project: Path) -> None:
    asked = []

    async def note(question: str, choices: Sequence[Choice]) -> Choice | None:
        asked.append(question)
        return None

    with pytest.raises(ToolError, match="the person said no"):
        await run(executor, "echo", "two words", "a\x1b[2Kb", caller=Caller(ask=note))
    with pytest.raises(ConsentError):
        await run(executor, "echo", caller=NOBODY)

    assert len(asked) == 1
    assert '  argv = ["echo", "two words", "a⟨U+001B⟩[2Kb"]\n' in asked[0]
    assert f'  folder = "{project}"' in asked[0]
    assert "\x1b" not in asked[0]


async def test_the_persons_policy_can_answer_for_them(project: Path) -> None:
    config = {"packs": {"shell": {"allow": ["echo"]}}, "policy": {"allow": ["shell.run"]}}
    async with open_executor(project=project, config=config) as opened:
        opened.executor.lend(AllowedFiles([project], project=project, home=project.parent))

        assert (await run(opened.executor, "echo", "a", caller=NOBODY))["stdout"] == "a\n"


@pytest.mark.parametrize(
    "argv",
    [
        ["cat", "a"],
        ["/bin/echo", "a"],
        ["git", "commit"],
        ["git"],
        ["xargs"],
        ["Echo"],
        ["echo "],
        ["./sub/../other"],
        ["pwd"],
    ],
)
async def test_only_allowed_programs_are_run(executor: ToolExecutor, argv: list[str]) -> None:
    with pytest.raises(ToolError, match=r"not among the programs .* packs\.shell\.allow"):
        await run(executor, *argv)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "list of strings"),
        ([""], "list of strings"),
        (["echo", "a\0"], "null"),
        (["echo", "x" * 10_001], "characters"),
    ],
)
async def test_words_that_make_no_command_are_told(executor: ToolExecutor, argv: list[str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        await run(executor, *argv)


async def test_a_name_means_no_file_of_the_project(
    executor: ToolExecutor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tool", "echo"):
        (project / name).write_text("#!/bin/sh\necho mine\n")
        (project / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}:.::{os.environ['PATH']}")

    with pytest.raises(ToolError, match="no program 'tool'"):
        await run(executor, "tool")
    assert (await run(executor, "echo", "theirs"))["stdout"] == "theirs\n"


async def test_a_program_of_the_project_is_run_by_the_path_that_is_allowed(
    executor: ToolExecutor, project: Path
) -> None:
    (project / "own").write_text("#!/bin/sh\necho mine\n")
    (project / "own").chmod(0o755)

    assert (await run(executor, "./own"))["stdout"] == "mine\n"
    assert (await run(executor, "../own", cwd="sub"))["stdout"] == "mine\n"
    with pytest.raises(ToolError, match="not among"):
        await run(executor, "./own", cwd="sub")


@pytest.mark.parametrize("cwd", ["..", "/", "link", "~/.onetool", "/proc/self/cwd"])
async def test_a_program_is_run_inside_the_allowed_folders_only(
    executor: ToolExecutor, project: Path, cwd: str
) -> None:
    (project / "link").symlink_to("/")

    with pytest.raises(PathRefusedError):
        await run(executor, "ls", cwd=cwd)


async def test_its_environment_has_no_secrets(executor: ToolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "hidden")
    monkeypatch.setenv("ONETOOL_HTTP_TOKEN", "hidden")

    ended = await run(executor, "env")

    assert "hidden" not in ended["stdout"]
    assert "PATH=" in ended["stdout"]


# OneTool itself


@pytest.mark.parametrize(
    "argv",
    [
        ["onetool", "trust"],
        ["{bin}/onetool", "trust"],
        ["./link", "trust"],
        ["env", "onetool", "trust"],
        ["env", "-i", "{bin}/onetool"],
        ["env", "./link", "trust"],
        ["env", "sh", "-c", "onetool trust --yes"],
        ["sh", "-c", "cd / && {bin}/onetool trust"],
        ["sh", "-c", "exec OneTool"],
        ["xargs", "onetool"],
        [sys.executable, "-m", "onetool"],
        [sys.executable, "-c", "from onetool.__main__ import main; main()"],
    ],
    ids=" ".join,
)
async def test_onetool_is_not_run(
    executor: ToolExecutor, project: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    (project / "link").symlink_to(BIN / "onetool")
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")

    with pytest.raises(ToolError, match="tools cannot run OneTool itself"):
        await run(executor, *(word.format(bin=BIN) for word in argv))


async def test_other_programs_may_speak_of_onetool(executor: ToolExecutor) -> None:
    assert (await run(executor, "echo", "onetool"))["stdout"] == "onetool\n"
    assert (await run(executor, "sh", "-c", "echo /work/onetool/src"))["status"] == 0


# Limits


async def test_what_takes_too_long_is_ended_with_all_that_it_started(executor: ToolExecutor, project: Path) -> None:
    code = "echo begun; (setsid sleep 1000 & echo $! > child); sleep 1000"

    ended = await run(executor, "sh", "-c", code, timeout=2)

    assert (ended["status"], ended["timed_out"], ended["stdout"]) == (None, True, "begun\n")
    assert not _lives(int((project / "child").read_text()))


async def test_nothing_is_left_of_a_program_that_ended(executor: ToolExecutor, project: Path) -> None:
    ended = await run(executor, "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! > child")

    assert ended["status"] == 0
    assert not _lives(int((project / "child").read_text()))


async def test_a_cancelled_call_leaves_nothing(executor: ToolExecutor, project: Path) -> None:
    child = project / "child"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, executor, "sh", "-c", "echo $$ > new; mv new child; sleep 1000")
        await wait_until(child.exists)
        tasks.cancel_scope.cancel()

    assert not _lives(int(child.read_text()))


async def test_of_long_output_the_beginning_and_the_end_are_kept(executor: ToolExecutor) -> None:
    code = "i=0; while [ $i -lt 20000 ]; do echo line $i; echo line $i >&2; i=$((i+1)); done"

    ended = await run(executor, "sh", "-c", code, limit=100)

    for stream in ("stdout", "stderr"):
        assert ended[stream].startswith("line 0\nline 1\n")
        assert ended[stream].endswith("line 19998\nline 19999\n")
        assert "bytes left out" in ended[stream]
    assert ended["cut"]


def test_output_is_kept_to_the_byte() -> None:
    captured = Captured(10)
    for _ in range(50_000):
        captured.take(b"0123456789")

    assert captured.text() == "01234\n… 499,990 bytes left out …\n56789"
    assert captured.total == 500_000


@pytest.mark.parametrize(
    ("options", "message"), [({"timeout": 0}, "timeout"), ({"limit": -1}, "limit"), ({"limit": 10**9}, "limit")]
)
async def test_limits_that_make_no_sense_are_told(
    executor: ToolExecutor, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        await run(executor, "echo", **options)


# Options


@pytest.mark.parametrize("allow", ["make", [1], [""], {"a": 1}, ['"open']])
def test_an_allow_list_that_makes_no_sense_is_told(allow: object) -> None:
    with pytest.raises(ToolError, match=r"packs\.shell\.allow"):
        read_rules(allow)


async def test_the_pack_is_off_until_a_person_switches_it_on(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "off") as app:
        answer = await app.runner.run("shell.run(argv=['echo'])")
        assert answer.is_error
        assert "packs.shell.enabled" in answer.text
    async with open_engine(tmp_path / "on", config="packs: {shell: {enabled: true, allow: [echo]}}") as app:
        answer = await app.runner.run("shell.run(argv=['echo', 'a'])['stdout']", caller=Caller(ask=agree))
        assert answer.text == "a\n"


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


# -- what was agreed to is what runs


@pytest.mark.parametrize(
    ("argv", "changed"),
    [
        (["./own"], "own"),
        (["sh", "script.sh"], "script.sh"),
        (["sh", "-c", "make", "--file=rules.mk"], "rules.mk"),
        (["sh", "-c", "cat Makefile"], "Makefile"),
    ],
    ids=["program", "script", "option", "instructions"],
)
async def test_what_has_changed_since_the_person_was_asked_is_not_run(
    executor: ToolExecutor, project: Path, argv: list[str], changed: str
) -> None:
    file = project / changed
    file.write_text("#!/bin/sh\necho harmless\n")
    file.chmod(0o755)

    async def swap(question: str, choices: Sequence[Choice]) -> Choice:
        file.write_text("#!/bin/sh\ntouch harmful\n")
        return choices[0]

    with pytest.raises(ConsentError, match=f"{changed} was changed while the person was asked"):
        await run(executor, *argv, caller=Caller(ask=swap))
    assert not (project / "harmful").exists()


async def test_a_file_that_nobody_names_may_change_meanwhile(executor: ToolExecutor, project: Path) -> None:
    async def write(question: str, choices: Sequence[Choice]) -> Choice:
        (project / "server.log").write_text("one more line\n")
        return choices[0]

    assert (await run(executor, "echo", "a", caller=Caller(ask=write)))["stdout"] == "a\n"
