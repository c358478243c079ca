"""`onetool chat`, as a person uses it: in a real terminal, and in a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.demo_pack import with_demo
from tests.models.servers import ScriptedServer
from tests.models.terminal import LOADED, ROWS, Terminal, in_terminal
from tests.preloaded import preloaded_command

MARKDOWN = """# Title

Some *leaning* words and `code`, [a link](https://example.com).

1. first
2. second

Escapes: \x1b[2J\x07 are shown."""
COMMAND = [sys.executable, "-m", "onetool", "chat"]

pytestmark = pytest.mark.xdist_group("models")  # what a conversation needs is loaded once

Chat = Callable[..., AbstractContextManager[Terminal]]
Pipe = Callable[..., subprocess.CompletedProcess[bytes]]


def environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "key-for-tests",
    }


def write_config(folder: Path, url: str, more: str = "") -> None:
    (folder / ".onetool").mkdir(exist_ok=True)
    providers = f"provider: ollama, retries: 0, anthropic: {{base_url: '{url}'}}, ollama: {{host: '{url}'}}"
    (folder / ".onetool/onetool.yaml").write_text(with_demo(f"ai: {{{providers}}}\n{more}\n"))


@pytest.fixture
def chat(tmp_path: Path, server: ScriptedServer) -> Chat:
    """Start a conversation in a terminal; the block begins at its first prompt."""

    @contextmanager
    def start(*arguments: str, config: str = "", preloaded: bool = True) -> Iterator[Terminal]:
        """It has to be a real start where keys are signals: they go to all processes at the terminal."""
        write_config(tmp_path, server.url, config)
        command = preloaded_command("onetool", "chat", also=LOADED) if preloaded else COMMAND
        with in_terminal([*command, *arguments], cwd=tmp_path, env=environment(tmp_path)) as terminal:
            terminal.wait_for_prompt(1)
            yield terminal

    return start


def run_code(command: str) -> dict[str, Any]:
    return {"name": "run", "arguments": {"command": command}}


def test_an_answer_is_laid_out_once_and_calls_are_shown_with_their_time(chat: Chat, server: ScriptedServer) -> None:
    calls = [run_code("demo.upper(text='x')"), run_code("demo.nothing()")]
    server.answer({"hasToolResult": False}, {"content": "Let me see.", "toolCalls": calls})
    server.answer({"hasToolResult": True}, {"content": MARKDOWN}, latency=5)

    with chat("--provider", "anthropic") as terminal:
        terminal.type("show it\n")
        text = terminal.wait_for_prompt(2)
        terminal.type("\x04")
        status = terminal.wait_for_exit()

    for words in [
        "Let me see.",
        "Title",
        "leaning words and code",
        "a link (https://example.com)",
        "1 first",
        "2 second",
    ]:
        assert text.count(words) == 1, words
    assert re.search(r"^✓ onetool\.run\(command=\"demo\.upper\(text='x'\)\"\)  [\d.]+ m?s$", text, re.MULTILINE)
    assert re.search(r"^✗ onetool\.run\(command=\"demo\.nothing\(\)\"\)  [\d.]+ m?s$", text, re.MULTILINE)
    assert "onetool.run: Nothing was executed. line 1: The pack demo has no tool" in text
    assert "# Title" not in text
    # What a model writes cannot reach the terminal's own controls.
    assert "Escapes: ⟨U+001B⟩[2J⟨U+0007⟩ are shown." in text
    assert "\x1b[2J" not in terminal.sent
    assert status == 0


@pytest.mark.long
def test_an_answer_longer_than_the_screen_is_printed_once(chat: Chat, server: ScriptedServer) -> None:
    lines = [f"line {number:03}" for number in range(3 * ROWS)]
    server.answer({}, {"content": "```text\n" + "\n".join(lines) + "\n```\n\nThe end."}, latency=2)

    with chat() as terminal:
        terminal.type("go\n")
        text = terminal.wait_for_prompt(2)

    assert [line.strip() for line in text.splitlines() if line.strip().startswith("line ")] == lines
    assert text.count("The end.") == 1


def test_ctrl_c_stops_the_answer_and_not_the_program(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    late = tmp_path / "late"
    server.answer({"userMessage": "slow"}, {"toolCalls": [run_code(f"demo.block(seconds=3, path={str(late)!r})")]})
    server.answer({"userMessage": "again"}, {"content": "still here"})

    with chat("--model", "tiny", preloaded=False) as terminal:
        assert "ollama tiny, 1 tool. /help" in terminal.screen.text
        terminal.type("slow\n")
        terminal.wait_for(lambda text: "demo.block" in text)
        terminal.type("\x03")
        text = terminal.wait_for_prompt(2)
        assert "Stopped." in text
        terminal.type("again\n")
        text = terminal.wait_for(lambda text: "still here" in text)
        terminal.wait_for_prompt(3)
        terminal.type("/exit\n")
        assert terminal.wait_for_exit() == 0

    assert re.search(r"demo\.block.*, stopped$", text, re.MULTILINE)
    assert not late.exists()
    told = str(server.requests()[-1]["messages"])
    assert "stopped" in told


def test_ctrl_c_twice_at_the_prompt_leaves(chat: Chat) -> None:
    with chat(preloaded=False) as terminal:
        terminal.type("half a thought")
        terminal.wait_for(lambda text: "half a thought" in text)
        terminal.type("\x03")
        assert "Press Ctrl-C again, or Ctrl-D, to exit." in terminal.wait_for_prompt(2)
        terminal.type("\x03")

        assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize(("key", "told"), [("y", "HELLO"), ("n", "the answer was no")])
def test_a_person_is_asked_where_policy_wants_it(chat: Chat, server: ScriptedServer, key: str, told: str) -> None:
    server.answer({"hasToolResult": False}, {"toolCalls": [run_code("demo.upper(text='hello')")]})
    server.answer({"hasToolResult": True}, {"content": "so be it"})

    with chat(config="policy: {ask: [demo.*]}") as terminal:
        terminal.type("go\n")
        terminal.wait_for(lambda text: "Allow it? [y/r/c/N]" in text)
        terminal.type(f"{key}\n")
        text = terminal.wait_for_prompt(2)

    assert 'demo.upper\n  text = "hello"\n' in text.replace("\r\n", "\n")
    assert "so be it" in text
    assert told in str(server.requests()[-1]["messages"])


def test_a_question_to_a_person_is_not_written_into_the_answer(tmp_path: Path, server: ScriptedServer) -> None:
    server.answer({"hasToolResult": False}, {"toolCalls": [run_code("demo.upper(text='hello')")]})
    server.answer({"hasToolResult": True}, {"content": "so be it"})
    write_config(tmp_path, server.url, "policy: {ask: [demo.*]}")
    command = ["/bin/sh", "-c", 'exec "$@" > answer', "sh", *preloaded_command("onetool", "chat", also=LOADED)]

    with in_terminal(command, cwd=tmp_path, env=environment(tmp_path)) as terminal:
        terminal.wait_for(lambda text: text.endswith("\n>"))
        terminal.type("go\n")
        terminal.wait_for(lambda text: "Allow it? [y/r/c/N]" in text)
        terminal.type("y\n")
        terminal.wait_for(lambda text: text.endswith("\n>"))

    assert (tmp_path / "answer").read_text() == "so be it\n"


@pytest.mark.long
def test_ctrl_c_at_a_question_ends_its_line_and_the_answer(chat: Chat, server: ScriptedServer) -> None:
    server.answer({"hasToolResult": False}, {"toolCalls": [run_code("demo.upper(text='hello')")]})

    with chat(config="policy: {ask: [demo.*]}", preloaded=False) as terminal:
        terminal.type("go\n")
        terminal.wait_for(lambda text: "Allow it? [y/r/c/N]" in text)
        terminal.type("perhaps")
        terminal.wait_for(lambda text: "perhaps" in text)
        terminal.type("\x03")
        text = terminal.wait_for_prompt(2)

    assert re.search(r"^Allow it\? \[y/r/c/N\] perhaps(\^C)?$", text, re.MULTILINE)
    assert "Stopped." in text


def test_commands_and_history(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    server.answer({}, {"content": "Hi."})

    with chat() as terminal:
        terminal.type("/help\n/tools\n/cost\n/unknown\n")
        text = terminal.wait_for_prompt(5)
        assert all(words in text for words in ["/clear   start a new", "run  Execute Python;", "Nothing yet."])
        assert "There is no /unknown. Commands: /help, " in text
        terminal.type("first \\\n")
        terminal.wait_for(lambda text: "\n…" in text)
        terminal.type("second\n")
        terminal.wait_for_prompt(6)
        terminal.type("/clear\n/cost\n")
        text = terminal.wait_for_prompt(8)
        assert "Started a new conversation." in text
        assert "1 request, 0 tokens in, 0 out; price unknown (ai.prices)" in text
        terminal.type("\x1b[A\x1b[A\x1b[A\n")  # the third line from below
        terminal.wait_for_prompt(9)
        terminal.type("\x04")
        terminal.wait_for_exit()

    asked = [request["messages"][-1]["content"] for request in server.requests()]
    assert asked[0] == "first \nsecond"
    file = tmp_path / ".onetool/state/chat_history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().splitlines()[:2] == ["/help", "/tools"]


def kept_files(folder: Path) -> list[Path]:
    return sorted((folder / ".onetool/state/conversations").glob("*.jsonl"))


def test_a_conversation_goes_on_with_its_model_after_it_was_killed(
    chat: Chat, pipe: Pipe, server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool/secrets.yaml").write_text("SOME_KEY: a-secret-of-tests\n")
    (tmp_path / ".onetool/secrets.yaml").chmod(0o600)
    late = tmp_path / "late"
    slow = run_code(f"demo.block(seconds=60, path={str(late)!r})")
    server.answer({"userMessage": "first", "hasToolResult": False}, {"toolCalls": [run_code("demo.upper(text='x')")]})
    server.answer({"userMessage": "first", "hasToolResult": True}, {"content": "It is 42 and a-secret-of-tests."})
    server.answer({"userMessage": "second"}, {"toolCalls": [slow]})
    server.answer({"userMessage": "third"}, {"content": "I remember."})
    server.answer({"userMessage": "fourth"}, {"content": "I do too."})

    with chat("--model", "tiny", preloaded=False) as terminal:
        terminal.type("first\n")
        terminal.wait_for_prompt(2)
        terminal.type("second\n")
        terminal.wait_for(lambda text: "demo.block" in text)
        os.kill(terminal.process, signal.SIGKILL)
    [file] = kept_files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = file.read_text()
    file.write_text(f'{kept}{{"at":1,"answer":[{{"te')  # a line that was cut off
    with chat("--continue") as terminal:
        greeting = terminal.screen.text
        terminal.type("third\n")
        assert "I remember." in terminal.wait_for_prompt(2)
        terminal.type("\x04")
        terminal.wait_for_exit()
    third = server.requests()[-1]
    other = pipe(b"fourth", "--continue", "--provider", "anthropic")
    fourth = server.requests()[-1]

    assert "ollama tiny, 1 tool." in greeting
    assert re.search(r"Conversation c[0-9a-f]{8} of \S+ \S+, 2 questions. It ended with:\n  you: second\n", greeting)
    assert third["model"] == "tiny"
    told = json.dumps(third["messages"])
    words = ["first", '"X"', "It is 42", "second", "the result of this call is unknown", "was stopped here", "third"]
    assert [word for word in words if word not in told] == []
    assert (other.returncode, other.stdout) == (0, b"I do too.\n"), other.stderr
    assert "I remember." in json.dumps(fourth["messages"])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[-1]["answer"] == [{"text": "I do too."}]
    assert [line["model"]["provider"] for line in lines if "model" in line] == ["ollama", "anthropic"]
    assert "a-secret-of-tests" not in file.read_text()


def test_conversations_are_listed_and_one_is_chosen(pipe: Pipe, server: ScriptedServer) -> None:
    server.answer({"userMessage": "alpha"}, {"content": "A."})
    server.answer({"userMessage": "beta"}, {"content": "B."})
    server.answer({"userMessage": "more"}, {"content": "C."})
    pipe(b"alpha \x1b[2J question", "--model", "tiny")
    pipe(b"beta")

    listed = pipe(b"", "--list").stdout.decode().splitlines()
    older = listed[1].split()[0]
    went_on = pipe(b"more", "--continue", older)

    assert re.fullmatch(r"c\w{8}  \S+ \S+  ollama \S+ +1 question  beta", listed[0])
    assert re.fullmatch(r"c\w{8}  \S+ \S+  ollama tiny +1 question  alpha ⟨U\+001B⟩\[2J question", listed[1])
    assert (went_on.returncode, went_on.stdout) == (0, b"C.\n"), went_on.stderr
    sent = server.requests()[-1]
    assert (sent["model"], [message["content"] for message in sent["messages"][-2:]]) == ("tiny", ["A.", "more"])


def test_what_cannot_be_kept_is_answered_nevertheless(pipe: Pipe, server: ScriptedServer, tmp_path: Path) -> None:
    server.answer({}, {"content": "Hi."})
    (tmp_path / ".onetool/state").mkdir(parents=True)
    (tmp_path / ".onetool/state/conversations").write_text("a file in place of the folder")

    done = pipe(b"hello")

    assert (done.returncode, done.stdout) == (0, b"Hi.\n")
    assert done.stderr == b"This conversation is not saved from here on: File exists.\n"


@pytest.fixture
def pipe(tmp_path: Path, server: ScriptedServer) -> Pipe:
    """`... | onetool chat`."""

    def run(question: bytes, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        write_config(tmp_path, variables.pop("url", server.url))
        cwd = variables.pop("cwd", str(tmp_path))
        return subprocess.run(
            preloaded_command("onetool", "chat", *arguments, also=LOADED),
            input=question,
            capture_output=True,
            cwd=cwd,
            env=environment(tmp_path) | variables,
            timeout=60,
            check=False,
        )

    return run


def test_a_question_in_a_pipe_is_answered_exactly(pipe: Pipe, server: ScriptedServer) -> None:
    answer = "  # *Grüße*\n\n\t`x`  end"
    server.answer({"hasToolResult": False}, {"toolCalls": [run_code("demo.upper(text='x')")]})
    server.answer({"hasToolResult": True}, {"content": answer})

    done = pipe(b"wie geht's?\n")

    assert (done.returncode, done.stdout.decode()) == (0, f"{answer}\n")
    assert re.fullmatch(r"✓ onetool\.run\(command=\"demo\.upper\(text='x'\)\"\)  .*\n", done.stderr.decode())


@pytest.mark.parametrize(
    ("question", "options", "status", "words"),
    [
        (b" \n", {}, 2, "there is no question on stdin"),
        (b"\xff", {}, 2, "not UTF-8"),
        (
            b"x",
            {"ONETOOL_AI_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": ""},
            2,
            "ANTHROPIC_API_KEY: is not set; put it",
        ),
        (b"x", {"url": "http://127.0.0.1:9"}, 1, "ollama did not answer: cannot connect to http://127.0.0.1:9/"),
    ],
    ids=["nothing", "no text", "no key", "nobody there"],
)
def test_what_cannot_be_answered_is_one_line(
    pipe: Pipe, question: bytes, options: dict[str, str], status: int, words: str
) -> None:
    done = pipe(question, **options)

    assert (done.returncode, done.stdout) == (status, b"")
    assert words in done.stderr.decode()
    assert len(done.stderr.decode().splitlines()) == 1
