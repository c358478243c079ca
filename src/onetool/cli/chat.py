"""`onetool chat`: talk to a model that has every tool."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.chat.commands import Leaving, obey
from onetool.chat.conversation import Conversation, Question, open_conversation
from onetool.chat.display import Display, PlainDisplay
from onetool.cli import FAILED, INTERRUPTED, OK, USAGE
from onetool.cli.printing import complain, say
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


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", choices=[*find_providers()], help="who answers (default: ai.provider)")
    parser.add_argument("--model", metavar="M", help="which of its models (default: the configured one)")


def main(options: Namespace) -> int:
    loaded = load(options)
    settings = choose(loaded.config.ai, options.provider, options.model)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # a person sees what went wrong with a call where the call is shown
    launched = launch(loaded)
    at_terminal = sys.stdin.isatty()
    try:
        with open_conversation(loaded, settings, launched=launched, may_ask=at_terminal) as conversation:
            return _talk(conversation, loaded) if at_terminal else _answer_once(conversation)
    except ModelError as error:
        complain(f"onetool chat: {word_error(error)}")
        return FAILED


def choose(settings: AiSettings, provider: str | None, model: str | None) -> AiSettings:
    """Return the settings with the changes that the command line asks for."""
    provider = provider or settings.provider
    changes: dict[str, object] = {"provider": provider}
    if settings.failover == provider:
        changes["failover"] = None
    if model:
        changes[provider] = settings.section(provider).model_copy(update={"model": model})
    return settings.model_copy(update=changes)


def _answer_once(conversation: Conversation) -> int:
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
    return OK


def _talk(conversation: Conversation, loaded: LoadedConfig) -> int:
    try:
        from onetool.chat.prompt import Prompt
    except ImportError as error:
        provider = conversation.see(lambda client: client.model.provider)
        raise MissingExtraError(provider, provider) from error  # it comes with every provider's library

    display, write = _open_display()
    write(conversation.see(greet))
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
