"""`onetool chat`: talk to a model that can use every tool."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.chat.conversation import Conversation, open_conversation, run_command
from onetool.chat.display import Display, PlainDisplay
from onetool.chat.kept_conversations import KeptConversation, PastConversation, SavedConversations
from onetool.cli import INTERRUPTED, OK, USAGE
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table
from onetool.cli.start import load
from onetool.console.clean_text import count_of, one_line
from onetool.console.engine_events import ExitRequested, Question
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
    note = "continue a conversation of this folder (default: the last one), with its model"
    parser.add_argument("--continue", nargs="?", const="", metavar="ID", dest="earlier", help=note)
    parser.add_argument("--list", action="store_true", help="list the conversations of this folder")
    add_json_argument(parser, "print the list as JSON")


def main(options: Namespace) -> int:
    loaded = load(options)
    shelf = SavedConversations(loaded)
    if options.list:
        past, rows = list(shelf.earlier()), []
        for one in past:
            model, questions = f"{one.restored.provider} {one.restored.model}", count_of(len(one.exchanges), "question")
            rows.append((one.id, one.last, model, questions, one.exchanges[0].question))
        if options.json:
            say_json([one.describe() for one in past])
        elif not past:
            complain("There is no conversation in this folder yet; onetool chat starts one.")
        else:
            say_table(rows, WIDTHS)
        return OK
    earlier = shelf.find(options.earlier) if options.earlier is not None else None
    provider, model = options.provider, options.model
    known = earlier.restored if earlier is not None and earlier.restored.provider in find_providers() else None
    if known is not None and provider in (None, known.provider):  # the model of that conversation
        provider, model = known.provider, model or known.model
    settings = choose(loaded.config.ai, provider, model)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # errors are shown where the call is shown
    at_terminal = sys.stdin.isatty()
    try:
        with shelf.keeping(settings, earlier) as kept:
            opening = open_conversation(loaded, settings, launched=launch(loaded), may_ask=at_terminal, kept=kept)
            with opening as conversation:
                return _talk(conversation, loaded, kept, earlier) if at_terminal else _answer_once(conversation, kept)
    except ModelError as error:
        return fail(f"onetool chat: {word_error(error)}")


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
        return fail(f"onetool chat: the question on stdin is not UTF-8: {error}", USAGE)
    if not text.strip():
        return fail("onetool chat: there is no question on stdin", USAGE)
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

    display: Display = PlainDisplay()
    write: Callable[[str], None] = complain
    if sys.stdout.isatty():
        from rich.console import Console

        from onetool.chat.live_display import LiveDisplay

        display, write = LiveDisplay(Console()), say
    tools, model = conversation.see(lambda client: (len(client.offered()), client.model))
    write(f"{model.provider} {model.name}, {count_of(tools, 'tool')}. /help shows commands.")
    if earlier is not None:  # say which conversation continues, and how it ended
        last, questions = earlier.exchanges[-1], count_of(len(earlier.exchanges), "question")
        answer = last.answer.text if last.answer is not None else ""
        write(f"Conversation {earlier.id} of {earlier.last}, {questions}. It ended with:")
        write(f"  you: {one_line(last.question, _RECALLED)}")
        write(f"  {earlier.restored.provider}: {one_line(answer, _RECALLED)}")
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
