"""The command line, as a person uses it: what it prints where, and its exit status."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.config.keys import known_keys
from ot.config.loader import load_config
from ot.config.models import Config
from tests.demo_pack import give_demo, with_demo
from tests.e2e.raw_server import WAIT, RawServer, environment_of
from tests.models.terminal import in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.trusting import trust_project

Finished = subprocess.CompletedProcess[str]
OneTool = Callable[..., Finished]


@pytest.fixture
def onetool(tmp_path: Path) -> OneTool:
    """Run `onetool ...` in an empty folder, for a person who has the pack `demo`."""

    def run(*arguments: str, stdin: str = "", **variables: str) -> Finished:
        env = environment_of(give_demo(tmp_path / "home")) | variables
        return run_preloaded(*arguments, cwd=tmp_path, env=env, stdin=stdin)

    return run


@pytest.fixture
def started_onetool(tmp_path: Path) -> OneTool:
    """The same, started as a person starts it: for what the start decides."""

    def run(*arguments: str, stdin: str = "", **variables: str) -> Finished:
        return subprocess.run(
            [sys.executable, "-m", "onetool", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment_of(give_demo(tmp_path / "home")) | variables,
            timeout=WAIT,
            check=False,
        )

    return run


def assert_one_line(finished: Finished, *, status: int, words: str) -> None:
    """A complaint: one line on stderr, nothing on stdout, no traceback."""
    assert finished.returncode == status
    assert finished.stdout == ""
    assert len(finished.stderr.splitlines()) == 1
    assert words in finished.stderr


# run


def test_run_prints_the_answer(started_onetool: OneTool) -> None:
    finished = started_onetool("run", "print('first')\n[demo.upper(text=w) for w in ('a', 'b')]")

    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "first\n[A, B]\n", "")


def test_a_preview_prints_what_the_code_would_do(started_onetool: OneTool) -> None:
    finished = started_onetool("run", "--preview", "file.write(path='never.txt', content='x')")
    left = started_onetool("run", "'never.txt' in str(file.list())")

    assert finished.returncode == 0
    assert "nothing was changed. 1 call would be made." in finished.stdout
    assert left.stdout == "False\n"


def test_run_reads_code_from_stdin(started_onetool: OneTool) -> None:
    finished = started_onetool("run", "-", stdin="```python\n6 * 7\n```\n")

    assert (finished.returncode, finished.stdout) == (0, "42\n")


def test_a_run_that_fails_prints_its_answer_and_has_status_1(onetool: OneTool) -> None:
    finished = onetool("run", "x = 1\nx / 0")

    assert finished.returncode == 1
    assert "ZeroDivisionError" in finished.stdout
    assert "line 2" in finished.stdout
    assert finished.stderr == ""


def test_what_is_said_about_an_answer_is_not_on_stdout_which_a_pipe_reads(onetool: OneTool, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("line\n" * 2100)

    done = onetool("run", 'len(file.read(path="long.txt")["lines"])')

    assert (done.returncode, done.stdout) == (0, "2000\n")
    assert "[file.read gave lines 1 to 2,000 of 2,100, and the code did not look at `more`." in done.stderr


def test_code_that_begins_with_a_dash_stands_behind_two(onetool: OneTool) -> None:
    assert onetool("run", "--", "-1+2").stdout == "1\n"


def test_an_answer_that_the_terminal_cannot_show_is_escaped(started_onetool: OneTool) -> None:
    finished = started_onetool("run", r"'\u2603 \ud800'", PYTHONIOENCODING="ascii")

    assert (finished.returncode, finished.stdout) == (0, "\\u2603 \\ud800\n")


def test_code_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "onetool", "run", "-"],
        input=b"'\xff'",
        capture_output=True,
        cwd=tmp_path,
        env=environment_of(tmp_path),
        timeout=WAIT,
        check=False,
    )

    assert finished.returncode == 2
    assert b"not UTF-8" in finished.stderr


def test_an_interrupted_run_ends_with_status_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    (tmp_path / "logging.yaml").write_text(with_demo("log: {file: log}"))
    code = "demo.upper(text='begun')\nwhile True: pass"
    running = RawServer(tmp_path, code, "--config", "logging.yaml", command=("run",))
    try:
        with (tmp_path / "log").open() as log:
            while "demo.upper" not in log.readline():
                pass
            running.process.send_signal(signal.SIGINT)
        status = running.wait_for_exit()
    finally:
        running.end()

    assert status == 130
    assert "Traceback" not in "".join(running.log)


# tools and call


def test_tools_lists_signatures_with_what_they_do(started_onetool: OneTool) -> None:
    finished = started_onetool("tools", "demo.u*")

    assert finished.stdout.splitlines() == [
        "demo.upper(*, text: str) -> str",
        "    Write a text in capital letters. [reads]",
    ]


def test_tools_without_a_pattern_lists_every_pack(onetool: OneTool) -> None:
    finished = onetool("tools")

    packs = {line.partition(".")[0] for line in finished.stdout.splitlines() if not line.startswith(" ")}
    assert packs >= {"demo", "ot", "proj"}


def test_a_pattern_that_fits_nothing_names_the_nearest(onetool: OneTool) -> None:
    assert_one_line(onetool("tools", "uper"), status=1, words="demo.upper")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["demo.upper", "text=hi"], "HI\n"),
        (["demo.upper", "text=42"], "42\n"),
        (["demo.upper", "text=a=b"], "A=B\n"),
        (["demo.numbers", "count=3"], "[0, 1, 2]\n"),
        (["demo.echo", "value=[1, 2]"], "[1, 2]\n"),
        (["demo.echo", "value=plain text"], "plain text\n"),
        (["demo.foo"], "foo\n"),
    ],
    ids=["text", "text-that-is-a-number", "equals-sign", "number", "json", "not-json", "default"],
)
def test_call_reads_values_as_the_tool_wants_them(onetool: OneTool, arguments: list[str], printed: str) -> None:
    finished = onetool("call", *arguments)

    assert (finished.returncode, finished.stdout, finished.stderr) == (0, printed, "")


def test_a_call_that_fails_says_why_and_has_status_1(onetool: OneTool) -> None:
    assert_one_line(onetool("call", "demo.upper"), status=1, words="text is missing")
    assert_one_line(onetool("call", "demo.uper", "text=x"), status=1, words="upper")


def test_an_argument_without_an_equals_sign_is_a_mistake_of_usage(onetool: OneTool) -> None:
    finished = onetool("call", "demo.upper", "hello")

    assert finished.returncode == 2
    assert "'hello' does not have the form key=value" in finished.stderr


# configuration


@pytest.mark.parametrize("command", [["run", "1"], ["tools"], ["call", "demo.foo"], ["check"], ["serve"]])
def test_a_mistake_in_the_configuration_is_one_line_and_status_2(
    onetool: OneTool, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("executoin: {timeout: 5}\n")

    assert_one_line(onetool(*command, "--config", "broken.yaml"), status=2, words="executoin")


def test_config_may_stand_before_the_command(onetool: OneTool, tmp_path: Path) -> None:
    (tmp_path / "aliases.yaml").write_text(with_demo("aliases: {up: demo.upper}\n"))

    assert onetool("--config", "aliases.yaml", "run", "up(text='hi')").stdout == "HI\n"
    assert onetool("run", "--config", "aliases.yaml", "up(text='hi')").stdout == "HI\n"


def test_a_file_that_does_not_exist_is_named(onetool: OneTool) -> None:
    assert_one_line(onetool("check", "--config", "nowhere.yaml"), status=2, words="nowhere.yaml")


def test_check_says_what_it_found_good(onetool: OneTool, tmp_path: Path) -> None:
    finished = onetool("check", HOME=str(tmp_path))

    assert finished.returncode == 0
    assert re.search(r"^OK: \d+ packs, \d+ tools; configuration: no file, only defaults\n\Z", finished.stdout, re.M)


def test_check_reports_each_problem_in_a_line(onetool: OneTool, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(
        with_demo("projects: {gone: no/such/folder}\naliases: {up: demo.uper, ws: nopack.search, gh: github.search}\n")
        + "servers: {github: {command: github-server}}\n"
    )
    finished = onetool("check", "--config", "odd.yaml")

    lines = finished.stdout.splitlines()
    assert finished.returncode == 2
    assert [line.partition(":")[0] for line in lines] == [
        "projects.gone",
        "servers.github",
        "aliases.up",
        "aliases.ws",
    ]
    assert "'github-server' was not found" in lines[1]
    assert "upper" in lines[2]


def test_init_writes_a_file_that_is_valid_and_changes_nothing(onetool: OneTool, tmp_path: Path) -> None:
    finished = onetool("init")

    assert (finished.returncode, finished.stdout) == (0, "wrote .onetool/onetool.yaml\n")
    assert "OK" in onetool("check").stdout
    loaded = load_config(environ={}, cwd=tmp_path, home=tmp_path / "home")
    assert loaded.files[0] == tmp_path / ".onetool" / "onetool.yaml"
    assert not loaded.untrusted
    without = load_config(environ={}, cwd=tmp_path / "home", home=tmp_path / "home")
    assert loaded.config == without.config


def test_init_global_writes_the_persons_own_file(tmp_path: Path) -> None:
    finished = run_preloaded("init", "--global", cwd=tmp_path, env=environment_of(tmp_path / "home"))

    file = tmp_path / "home" / ".onetool" / "onetool.yaml"
    assert finished.stdout == f"wrote {file}\n"
    assert load_config(environ={}, cwd=tmp_path, home=tmp_path / "home").files == (file,)


def test_the_written_file_without_its_comment_signs_sets_every_key(onetool: OneTool, tmp_path: Path) -> None:
    file = tmp_path / "onetool.yaml"
    onetool("init", "--config", str(file))
    file.write_text(re.sub(r"^#(?! \S)", "", file.read_text(), flags=re.MULTILINE))

    config = load_config(file, environ={}, cwd=tmp_path, home=tmp_path / "elsewhere").config

    written = yaml.safe_load(file.read_text())
    assert [".".join(key.path) for key in known_keys() if not _is_set(written, key.path)] == []
    changed = {
        "projects",
        "aliases",
        "snippets",
        "servers",
        "topics",
        "prompts",
        "packs",
        "ai",
        "policy",
        "roots",
        "grants",
        "limits",
    }  # examples
    defaults = vars(Config())
    assert {name for name, value in vars(config).items() if value != defaults[name]} == changed
    assert onetool("run", "$note text=hello", "--config", str(file)).returncode == 0
    assert "hello" in (tmp_path / "notes.yaml").read_text()


def _is_set(written: Any, path: Sequence[str]) -> bool:
    """Whether a key has a value, under any name where it has one of a person's own."""
    if not path:
        return True
    values = [written[path[0]]] if path[0] in written else []
    if path[0] == "*":
        values = written if isinstance(written, list) else list(written.values())
    return any(_is_set(value, path[1:]) for value in values)


def test_init_leaves_a_file_that_is_there_alone(onetool: OneTool, tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "onetool.yaml").write_text("docs_url: https://example.com/\n")
    refused = onetool("init")
    trust_project(tmp_path, tmp_path / "home")

    finished = onetool("init")

    assert (refused.returncode, finished.returncode) == (2, 0)
    assert f"onetool trust {tmp_path}" in refused.stderr
    assert "was not changed" in finished.stdout
    assert (tmp_path / ".onetool" / "onetool.yaml").read_text() == "docs_url: https://example.com/\n"


# the program itself


def test_version_and_help(started_onetool: OneTool) -> None:
    assert started_onetool("--version").stdout == f"onetool {version('onetool-run')}\n"
    assert {"serve", "run", "tools", "call", "check", "init", "demo"} <= set(started_onetool("--help").stdout.split())
    assert "HOST:PORT" in started_onetool("serve", "--help").stdout


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["serve", "--port", "1"], ["serve", "--no-token"]])
def test_wrong_usage_has_status_2(onetool: OneTool, arguments: list[str]) -> None:
    finished = onetool(*arguments)

    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr


def test_without_a_command_it_serves_where_no_person_types(tmp_path: Path) -> None:
    server = RawServer(tmp_path, command=())

    assert server.initialize()["serverInfo"]["name"] == "onetool"
    server.close_stdin()
    assert server.wait_for_exit() == 0


@pytest.mark.parametrize("command", ["tools", pytest.param("demo", marks=pytest.mark.long)])
def test_a_reader_that_leaves_early_is_no_traceback(tmp_path: Path, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        finished = subprocess.run(
            [sys.executable, "-m", "onetool", command],
            stdin=subprocess.DEVNULL,
            stdout=gone,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment_of(tmp_path),
            timeout=WAIT,
            check=False,
        )

    assert finished.returncode == 1
    assert finished.stderr == b""


def test_a_server_without_stdin_says_what_it_needs(tmp_path: Path) -> None:
    finished = subprocess.run(
        ["/bin/sh", "-c", f'exec "{sys.executable}" -m onetool serve <&-'],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment_of(tmp_path),
        timeout=WAIT,
        check=False,
    )

    assert_one_line(finished, status=2, words="must be open")


def test_the_demo_shows_a_session(started_onetool: OneTool) -> None:
    finished = started_onetool("demo")

    assert finished.returncode == 0, finished.stderr
    assert re.search(r"onetool \S+ over stdio, MCP \S+: started and connected in \d+ ms", finished.stdout)
    assert re.search(r"the tool run, \d+ tokens \(o200k\)", finished.stdout)
    assert "[ONE, TOOL, TO, CALL, THEM, ALL]" in finished.stdout
    assert "has no tool 'uper'" in finished.stdout
    assert re.search(r"1 \+ 1, 20 times", finished.stdout)
    assert re.search(
        r"uv tool install \. or pipx install --force \.|onetool import imports", finished.stdout.splitlines()[-1]
    )


@pytest.mark.parametrize("words", [["run", "code.search(query='tea')['total']"], ["call", "code.search", "query=tea"]])
def test_a_person_at_a_terminal_is_told_what_takes_long(tmp_path: Path, words: list[str]) -> None:
    """Here it is files that are indexed for the first time; installing a pack's libraries is told in the same way."""
    home = give_demo(tmp_path / "home")
    (tmp_path / "notes.txt").write_text("tea\n")
    controller, terminal = os.openpty()
    command = preloaded_command("onetool", *words)

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment_of(home),
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=WAIT,
        check=True,
    )

    os.close(terminal)
    told = os.read(controller, 65536).decode()
    os.close(controller)
    assert "(1 files indexed)" in told
    assert b"indexed)" not in done.stdout


def test_a_program_that_reads_stderr_is_not(tmp_path: Path, onetool: OneTool) -> None:
    (tmp_path / "notes.txt").write_text("tea\n")

    assert "indexed" not in onetool("run", "code.search(query='tea')['total']").stderr


def test_an_answer_acts_on_no_terminal_and_reaches_a_program_as_it_is(onetool: OneTool, tmp_path: Path) -> None:
    command = ["run", r"print('\x1b[2J\x9b2J\u202e'); {'a': 'x\ty'}['a']"]
    controller, terminal = os.openpty()
    env = environment_of(give_demo(tmp_path / "home"))

    subprocess.run(
        preloaded_command("onetool", *command), cwd=tmp_path, env=env, stdout=terminal, timeout=WAIT, check=True
    )

    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert shown == "⟨U+001B⟩[2J⟨U+009B⟩2J⟨U+202E⟩\r\nx\ty\r\n"
    assert onetool(*command).stdout == "\x1b[2J\x9b2J\u202e\nx\ty\n"


@pytest.mark.parametrize(("answer", "status", "said"), [("y", 0, "HELLO"), ("n", 1, "was not called")])
@pytest.mark.parametrize("command", [("run", "demo.upper(text='hello')"), ("call", "demo.upper", "text=hello")])
def test_a_person_at_a_terminal_is_asked_there(
    tmp_path: Path, command: tuple[str, ...], answer: str, status: int, said: str
) -> None:
    home = give_demo(tmp_path / "home")
    (home / ".onetool" / "onetool.yaml").write_text("packs: {demo: {enabled: true}}\npolicy: {ask: [demo.*]}\n")
    with in_terminal(preloaded_command("onetool", *command), cwd=tmp_path, env=environment_of(home)) as terminal:
        asked = terminal.wait_for(lambda text: "/N]" in text)
        terminal.type(f"{answer}\n")
        ended = terminal.wait_for_exit()

    assert "demo.upper" in asked
    assert "hello" in asked
    assert (ended, said in terminal.screen.text) == (status, True), terminal.screen.text
