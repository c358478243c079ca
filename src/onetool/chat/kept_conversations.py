"""Saved conversations: the current one, and earlier ones that a person may continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from mcp_core.json_types import JsonObject
from ot.ai.memory import Exchange
from ot.ai.messages import AssistantMessage, ToolMessage
from ot.ai.stored import Lines, Restored, restore
from ot.clients.caller import ClientMemory
from ot.clients.person import LOCAL
from ot.config.assistant import AiSettings
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.store.conversations import CONVERSATIONS_FOLDER, Conversations, OpenConversation
from ot.store.owner import Owner
from ot.text.redaction import Redactor

_DAY = 24 * 3600.0  # seconds


class PastConversation(NamedTuple):
    id: str
    written: float
    restored: Restored

    @property
    def exchanges(self) -> list[Exchange]:
        return self.restored.exchanges

    @property
    def last(self) -> str:
        """When something was last said."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.written))

    def describe(self) -> dict[str, object]:
        model = {"provider": self.restored.provider, "model": self.restored.model}
        said = {"questions": len(self.exchanges), "first": self.exchanges[0].question}
        return {"id": self.id, "last": self.last, **model, **said}


class SavedConversations:
    def __init__(self, loaded: LoadedConfig) -> None:
        settings = loaded.config.ai.conversations
        folder = state_folder(loaded.home) / CONVERSATIONS_FOLDER
        self._store = Conversations(folder, keep_for=settings.keep_days * _DAY, max_size=settings.max_size)
        self._owner = Owner(LOCAL, loaded.project)
        self._redactor = loaded.redactor
        self._enabled = settings.enabled

    def earlier(self) -> Iterator[PastConversation]:
        """Yield the conversations in which something was said, the last one first."""
        for found in self._store.read(self._owner):
            restored = restore(found.lines)
            if restored.exchanges:
                yield PastConversation(found.id, found.written, restored)

    def find(self, wanted: str) -> PastConversation:
        """Return the conversation of this name, the last one for no name; raises ConfigError if there is none."""
        for one in self.earlier():
            if wanted in ("", one.id):
                return one
        if wanted:
            fix = "onetool chat --list shows all of them"
            raise ConfigError(f"there is no conversation {wanted} in this folder", fix=fix)
        raise ConfigError("there is no conversation here yet", fix="start one with onetool chat")

    @contextmanager
    def keeping(self, settings: AiSettings, earlier: PastConversation | None) -> Iterator[KeptConversation]:
        """Save what is said from now on; raises ConfigError where another process has the earlier conversation open."""
        begin = partial(self._store.begin, self._owner) if self._enabled else lambda: None
        kept = KeptConversation(begin, self._redactor, settings)
        try:
            if earlier is not None:
                kept.go_on(self._open(earlier), earlier.restored)
            yield kept
        finally:
            kept.close()

    def _open(self, earlier: PastConversation) -> OpenConversation | None:
        if not self._enabled:
            return None
        try:
            return self._store.go_on(self._owner, earlier.id)
        except BlockingIOError as error:
            fix = "end that one first, or continue another: onetool chat --list"
            raise ConfigError(f"conversation {earlier.id} is open in another terminal", fix=fix) from error
        except OSError as error:
            raise ConfigError(f"conversation {earlier.id} cannot be opened: {error.strerror}") from error


class KeptConversation:
    """The current conversation. If it cannot be saved, it goes on, and `problem` says why."""

    def __init__(self, begin: Callable[[], OpenConversation | None], redactor: Redactor, settings: AiSettings) -> None:
        self._begin = begin
        self._settings = settings
        self._lines = Lines(redactor, self._append)
        self._opened: OpenConversation | None = begin()
        self._told: tuple[str, str] | None = None  # the model named last in the file
        self._marks: set[str] = set()  # the guarded tools that it names
        self.memory = ClientMemory()  # of the client that has this conversation
        self.earlier: list[Exchange] = []
        self.problem = ""

    def go_on(self, opened: OpenConversation | None, restored: Restored) -> None:
        self._opened = opened
        self._told = restored.provider, restored.model
        self._marks = set(restored.read)
        self.memory.note(restored.read)
        self.earlier = restored.exchanges

    def question(self, text: str) -> None:
        """Save what the person said, and before it which model answers, if that has changed."""
        provider = self._settings.provider
        answers = provider, self._settings.section(provider).model
        if self._told != answers:
            self._lines.model(*answers)
            self._told = answers
        self._lines.question(text)

    def turn(self, message: AssistantMessage) -> None:
        self._lines.turn(message)

    def results(self, message: ToolMessage) -> None:
        """Save the results of its calls, and before them the guarded data that these have read."""
        if self.memory.read != self._marks:
            self._marks = set(self.memory.read)
            self._lines.read(self._marks)
        self._lines.results(message)

    def answer(self, message: AssistantMessage) -> None:
        self._lines.answer(message)

    def clear(self) -> None:
        self.close()
        self._opened, self._told, self._marks = self._begin(), None, set()

    def close(self) -> None:
        """Let other processes continue it."""
        if self._opened is not None:
            self._opened.close()

    def _append(self, line: JsonObject) -> None:
        if self._opened is None:
            return
        try:
            self._opened.append(line)
        except OSError as error:
            self.close()
            self._opened = None
            self.problem = f"This conversation is not saved from here on: {error.strerror}."
