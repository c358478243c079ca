"""The conversations of a folder: which one goes on, and what becomes of one that cannot be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetool.chat.kept_conversations import KeptConversation, PastConversation, SavedConversations
from ot.ai.messages import AssistantMessage, Text, ToolCall, ToolMessage, ToolResult
from ot.config.assistant import AiSettings
from ot.config.loader import load_config
from ot.errors import ConfigError

CALL = ToolCall("call_1", "run", {"command": "mail.read()"})
SETTINGS = AiSettings(provider="ollama")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("here", "there"):
        (tmp_path / folder / ".onetool").mkdir(parents=True)
    return tmp_path


def shelf_of(home: Path, folder: str = "here", config: str = "") -> SavedConversations:
    (home / ".onetool").mkdir(exist_ok=True)
    (home / ".onetool/onetool.yaml").write_text(config)
    return SavedConversations(load_config(environ={}, cwd=home / folder, home=home))


def talk(kept: KeptConversation, question: str, answer: str) -> None:
    kept.question(question)
    kept.answer(AssistantMessage((Text(answer),)))


def questions(earlier: PastConversation) -> list[str]:
    return [exchange.question for exchange in earlier.exchanges]


def test_a_conversation_is_found_in_its_folder_only(home: Path) -> None:
    shelf = shelf_of(home)
    with shelf.keeping(SETTINGS, None) as kept:
        talk(kept, "first", "1.")
        kept.question("nobody answers")
        kept.clear()
        talk(kept, "second", "2.")
    second = shelf.find("")
    with shelf.keeping(SETTINGS, second) as kept:
        assert (
            questions(PastConversation("", 0, second.restored)) == [one.question for one in kept.earlier] == ["second"]
        )
        talk(kept, "third", "3.")

    assert [questions(one) for one in shelf.earlier()] == [["second", "third"], ["first"]]
    described = shelf.find(second.id).describe()
    assert [described[key] for key in ("id", "provider", "questions", "first")] == [second.id, "ollama", 2, "second"]
    with pytest.raises(ConfigError, match="there is no conversation c00000000 in this folder"):
        shelf.find("c00000000")
    with pytest.raises(ConfigError, match="there is no conversation here yet"):
        shelf_of(home, "there").find("")


def test_a_conversation_is_open_in_one_place_only(home: Path) -> None:
    shelf = shelf_of(home)
    with shelf.keeping(SETTINGS, None) as kept:
        talk(kept, "first", "1.")
        with pytest.raises(ConfigError, match="is open in another terminal"), shelf.keeping(SETTINGS, shelf.find("")):
            pass
        kept.clear()
        with shelf.keeping(SETTINGS, shelf.find("")):
            pass


def test_what_was_read_stays_guarded_when_a_conversation_goes_on(home: Path) -> None:
    shelf = shelf_of(home)
    with shelf.keeping(SETTINGS, None) as kept:
        kept.question("read the mail")
        kept.turn(AssistantMessage((CALL,)))
        kept.memory.note(["mail.read"])
        kept.results(ToolMessage((ToolResult(CALL, "a letter", ok=True),)))
        kept.answer(AssistantMessage((Text("A letter."),)))

    with shelf.keeping(SETTINGS, shelf.find("")) as kept:
        assert kept.memory.read == {"mail.read"}


def test_nothing_is_kept_where_nobody_wants_it(home: Path) -> None:
    shelf = shelf_of(home, config="ai: {conversations: {enabled: false}}")
    with shelf.keeping(SETTINGS, None) as kept:
        talk(kept, "first", "1.")

    assert list(shelf.earlier()) == []
    assert kept.problem == ""
