"""The page about the assistant is true."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from onetool.chat.conversation import HELP
from onetool.chat.display import describe_end
from onetool.cli import COMMANDS, load_command
from onetool.cli.chat import WIDTHS
from onetool.cli.printing import word_table
from ot.ai.messages import ToolEnded, ToolStarted
from ot.config.loader import load_config
from tests.models.clients import open_client
from tests.models.raw_provider import llama_end, llama_part, raw_provider
from tests.opened_executor import open_executor

PAGE = (Path(__file__).parents[2] / "docs" / "assistant.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_settings_can_be_loaded(tmp_path: Path, text: str) -> None:
    file = tmp_path / ".onetool" / "onetool.yaml"
    file.parent.mkdir()
    file.write_text(text)

    settings = load_config(environ={}, cwd=tmp_path, home=tmp_path).config.ai

    assert settings.section("ollama").model == "qwen3"


def test_every_command_of_the_conversation_is_listed() -> None:
    shown = set(re.findall(r"^\| `(/\w+)`", PAGE, re.MULTILINE))

    assert shown == set(re.findall(r"^(/\w+)", HELP, re.MULTILINE))
    assert "chat" in COMMANDS


def test_a_call_looks_like_that() -> None:
    call = ToolStarted("1", "onetool.run", {"command": "len(ot.tools())"})

    line = describe_end(ToolEnded("1", "onetool.run", 0.021, ok=True, text="42"), call, 80)

    assert line in blocks("text")[0].splitlines()


def test_conversations_are_listed_like_that() -> None:
    lines = blocks("text")[1].splitlines()
    rows = [re.split(r"  +", line) for line in lines]

    assert list(word_table(rows, WIDTHS)) == lines
    _, parser = load_command("chat")
    for line in re.findall(r"^(?:echo .*\| )?onetool chat ([^#>\n]*)", "\n".join(blocks("sh")), re.MULTILINE):
        parser.parse_args(line.split())


async def test_the_program_shows_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    exec(blocks("python")[0], namespace)
    example = SimpleNamespace(**namespace)

    async with raw_provider() as raw, open_executor() as opened:
        raw.then(llama_part(calls=[("demo_upper", {"text": "a"})]), llama_end())
        raw.then(llama_part("A."), llama_end())
        async with open_client("ollama", opened.executor, raw.url) as client:
            await example.show(client, "shout")

    assert re.fullmatch(r"\[demo\.upper: \d+\.\d s\]\nA\.", capsys.readouterr().out)
