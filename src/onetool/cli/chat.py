"""`onetool chat`: talk to a model that has every tool."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from mcp_core.json_types import JsonObject
from onetool.chat.clean_text import one_line
from onetool.chat.commands import Leaving, obey
from onetool.chat.conversation import Conversation, open_conversation
from onetool.chat.desk import Question
from onetool.chat.display import Display, PlainDisplay
from onetool.chat.kept_conversations import ConversationShelf, Earlier, KeptConversation
from onetool.cli import FAILED, INTERRUPTED, OK, USAGE
from onetool.cli.printing import complain, say, say_json, word_table
from onetool.cli.start import load
from ot.ai import ToolLoop
from ot.app import launch
from ot.config.loader import LoadedConfig
from ot.config.models import AiSettings
from ot.config.paths import state_folder
from ot.config.providers import find_providers
from ot.errors import MissingExtraError, ModelError
from ot.execution.wording import word_error

if TYPE_CHECKING:
    from onetool.chat.prompt import Prompt

STOPPED = "Stopped."
_RECALLED = 300  # characters of the last question and of its answer
WIDTHS = (9, 16, 40, 14, 60)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", choices=[*find_providers()], help="who answers (default: ai.provider)")
    parser.add_argument("--model", metavar="M", help="which of its models (default: the configured one)")
    parser.add_argument(
        "--continue",
        nargs="?",
        const="",
        metavar="ID",
        dest="earlier",
        help="go on with a conversation of this folder (default: the last one), and with its model",
    )
    parser.add_argument("--list", action="store_true", help="list the conversations of this folder")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def main(options: Namespace) -> int:
    loaded = load(options)
    shelf = ConversationShelf(loaded)
    if options.list:
        return _list(shelf.earlier(), as_json=options.json)
    earlier = shelf.find(options.earlier) if options.earlier is not None else None
    settings = choose_again(loaded.config.ai, earlier, options.provider, options.model)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # a person sees what went wrong with a call where the call is shown
    at_terminal = sys.stdin.isatty()
    try:
        with (
            shelf.keeping(settings, earlier) as kept,
            open_conversation(
                loaded, settings, launched=launch(loaded), may_ask=at_terminal, kept=kept
            ) as conversation,
        ):
            return _talk(conversation, loaded, kept, earlier) if at_terminal else _answer_once(conversation, kept)
    except ModelError as error:
        complain(f"onetool chat: {word_error(error)}")
        return FAILED


def _list(found: Iterable[Earlier], *, as_json: bool) -> int:
    described = [one.describe() for one in found]
    if as_json:
        say_json(described)
    elif not described:
        complain("There is no conversation in this folder yet; onetool chat begins one.")
    else:
        for line in word_table([_row(one) for one in described], WIDTHS):
            say(line)
    return OK


def _row(one: JsonObject) -> list[str]:
    questions = "1 question" if one["questions"] == 1 else f"{one['questions']} questions"
    return [one["id"], one["last"], f"{one['provider']} {one['model']}", questions, one["first"]]


def choose_again(settings: AiSettings, earlier: Earlier | None, provider: str | None, model: str | None) -> AiSettings:
    """Return the settings for whoever answered in an earlier conversation, unless the command line asks for others."""
    known = earlier.restored if earlier is not None and earlier.restored.provider in find_providers() else None
    if known is not None and provider in (None, known.provider):
        provider, model = known.provider, model or known.model
    return choose(settings, provider, model)


def choose(settings: AiSettings, provider: str | None, model: str | None) -> AiSettings:
    """Return the settings with the changes that the command line asks for."""
    provider = provider or settings.provider
    changes: dict[str, object] = {"provider": provider}
    if settings.failover == provider:
        changes["failover"] = None
    if model:
        changes[provider] = settings.section(provider).model_copy(update={"model": model})
    return settings.model_copy(update=changes)


def _answer_once(conversation: Conversation, kept: KeptConversation) -> int:
    """Answer one question, which is all of stdin; only its answer goes to stdout."""
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        complain(f"onetool chat: the question on stdin is not UTF-8: {error}")
        return USAGE
    if not text.strip():
        complain("onetool chat: there is no question on stdin")
        return USAGE
    display = PlainDisplay()
    try:
        _show(conversation, text, display, None)
    except KeyboardInterrupt:
        display.end(STOPPED)
        return INTERRUPTED
    if kept.problem:
        complain(kept.problem)
    return OK


def _talk(conversation: Conversation, loaded: LoadedConfig, kept: KeptConversation, earlier: Earlier | None) -> int:
    try:
        from onetool.chat.prompt import Prompt
    except ImportError as error:
        provider = conversation.see(lambda client: client.model.provider)
        raise MissingExtraError(provider, provider) from error  # it comes with every provider's library

    display, write = _open_display()
    write(conversation.see(greet))
    if earlier is not None:
        write(recall(earlier))
    prompt = Prompt(state_folder(loaded.home), say=write)
    while True:
        try:
            text = prompt.ask()
            if text.startswith("/"):
                obey(text, conversation, write)
            else:
                _show(conversation, text, display, prompt)
        except Leaving:
            return OK
        except KeyboardInterrupt:
            display.end(STOPPED)
        except ModelError as error:
            display.end(word_error(error))
        if kept.problem:
            write(kept.problem)
            kept.problem = ""


def recall(earlier: Earlier) -> str:
    """Say which conversation goes on, and how it ended."""
    told, last = earlier.describe(), earlier.exchanges[-1]
    answer = last.answer.text if last.answer is not None else ""
    questions = "1 question" if told["questions"] == 1 else f"{told['questions']} questions"
    return "\n".join(
        [
            f"Conversation {told['id']} of {told['last']}, {questions}. It ended with:",
            f"  you: {one_line(last.question, _RECALLED)}",
            f"  {told['provider']}: {one_line(answer, _RECALLED)}",
        ]
    )


def greet(client: ToolLoop) -> str:
    """Return the first line: who answers, with how many tools."""
    count = len(client.offered())
    tools = "1 tool" if count == 1 else f"{count} tools"
    return f"{client.model.provider} {client.model.name}, {tools}. /help shows commands."


def _show(conversation: Conversation, text: str, display: Display, prompt: Prompt | None) -> None:
    """Show one answer as it comes; whatever ends it early ends the calls that it makes."""
    display.begin()
    with closing(conversation.reply(text)) as happenings:
        for happening in happenings:
            if happening is None:
                display.tick()
            elif isinstance(happening, Question):
                display.pause()
                happening.answer(prompt.choose(happening.text, happening.choices) if prompt is not None else None)
            else:
                display.show(happening)
    display.end()


def _open_display() -> tuple[Display, Callable[[str], None]]:
    """Return a display that suits stdout, and a way to write lines beside it."""
    if not sys.stdout.isatty():
        return PlainDisplay(), complain
    from rich.console import Console

    from onetool.chat.live_display import LiveDisplay

    return LiveDisplay(Console()), say
