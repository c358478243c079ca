"""`onetool chat`: talk to a model that can use every tool."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.chat.conversation import Conversation, open_conversation, run_command
from onetool.chat.display import Display, PlainDisplay
from onetool.chat.kept_conversations import KeptConversation, PastConversation, SavedConversations
from onetool.cli import FAILED, INTERRUPTED, OK, USAGE
from onetool.cli.printing import add_json_argument, complain, say, say_json, say_table
from onetool.cli.start import load
from onetool.console.clean_text import count_of, one_line
from onetool.console.engine_events import ExitRequested, Question
from ot.ai import ToolLoop
from ot.app import launch
from ot.config.assistant import AiSettings
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.providers import find_providers
from ot.errors import MissingExtraError, ModelError
from ot.execution.wording import word_error

if TYPE_CHECKING:
    from onetool.console.prompt import Prompt

STOPPED = "Stopped."
_RECALLED = 300  # characters of the last question and of its answer
WIDTHS = (9, 16, 40, 14, 60)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", choices=[*find_providers()], help="the model's provider (default: ai.provider)")
    parser.add_argument("--model", metavar="M", help="the model (default: the configured one)")
    parser.add_argument(
        "--continue",
        nargs="?",
        const="",
        metavar="ID",
        dest="earlier",
        help="continue a conversation of this folder (default: the last one), with its model",
    )
    parser.add_argument("--list", action="store_true", help="list the conversations of this folder")
    add_json_argument(parser, "print the list as JSON")


def main(options: Namespace) -> int:
    loaded = load(options)
    shelf = SavedConversations(loaded)
    if options.list:
        return _list(shelf.earlier(), as_json=options.json)
    earlier = shelf.find(options.earlier) if options.earlier is not None else None
    settings = choose_again(loaded.config.ai, earlier, options.provider, options.model)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # errors are shown where the call is shown
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


def _list(found: Iterable[PastConversation], *, as_json: bool) -> int:
    conversations = list(found)
    if as_json:
        say_json([one.describe() for one in conversations])
    elif not conversations:
        complain("There is no conversation in this folder yet; onetool chat starts one.")
    else:
        say_table(map(_row, conversations), WIDTHS)
    return OK


def _row(one: PastConversation) -> tuple[str, ...]:
    model = f"{one.restored.provider} {one.restored.model}"
    return one.id, one.last, model, count_of(len(one.exchanges), "question"), one.exchanges[0].question


def choose_again(
    settings: AiSettings, earlier: PastConversation | None, provider: str | None, model: str | None
) -> AiSettings:
    """Return the settings for the model of an earlier conversation, unless the command line names another."""
    known = earlier.restored if earlier is not None and earlier.restored.provider in find_providers() else None
    if known is not None and provider in (None, known.provider):
        provider, model = known.provider, model or known.model
    return choose(settings, provider, model)


def choose(settings: AiSettings, provider: str | None, model: str | None) -> AiSettings:
    """Return the settings with the provider and model that the command line names."""
    provider = provider or settings.provider
    changes: dict[str, object] = {"provider": provider}
    if settings.failover == provider:
        changes["failover"] = None
    if model:
        changes[provider] = settings.section(provider).model_copy(update={"model": model})
    return settings.model_copy(update=changes)


def _answer_once(conversation: Conversation, kept: KeptConversation) -> int:
    """Answer the question on stdin; only the answer goes to stdout."""
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


def _talk(
    conversation: Conversation, loaded: LoadedConfig, kept: KeptConversation, earlier: PastConversation | None
) -> int:
    try:
        from onetool.console.prompt import Prompt
    except ImportError as error:
        provider = conversation.see(lambda client: client.model.provider)
        raise MissingExtraError(provider, provider) from error  # prompt_toolkit comes with every provider's library

    display, write = _open_display()
    write(conversation.see(greet))
    if earlier is not None:
        write(recall(earlier))
    prompt = Prompt(state_folder(loaded.home), say=write)
    while True:
        try:
            text = prompt.ask()
            if text.startswith("/"):
                run_command(text, conversation, write)
            else:
                _show(conversation, text, display, prompt)
        except ExitRequested:
            return OK
        except KeyboardInterrupt:
            display.end(STOPPED)
        except ModelError as error:
            display.end(word_error(error))
        if kept.problem:
            write(kept.problem)
            kept.problem = ""


def recall(earlier: PastConversation) -> str:
    """Say which conversation continues, and how it ended."""
    last, questions = earlier.exchanges[-1], count_of(len(earlier.exchanges), "question")
    answer = last.answer.text if last.answer is not None else ""
    return (
        f"Conversation {earlier.id} of {earlier.last}, {questions}. It ended with:\n"
        f"  you: {one_line(last.question, _RECALLED)}\n"
        f"  {earlier.restored.provider}: {one_line(answer, _RECALLED)}"
    )


def greet(client: ToolLoop) -> str:
    """Return the first line: the model, and how many tools it has."""
    tools = count_of(len(client.offered()), "tool")
    return f"{client.model.provider} {client.model.name}, {tools}. /help shows commands."


def _show(conversation: Conversation, text: str, display: Display, prompt: Prompt | None) -> None:
    """Show one answer as it comes; if it is interrupted, its calls are too."""
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
