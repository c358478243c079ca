"""Questions of a run whose client cannot be asked in the middle of a request: its next request brings the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from mcp_core.json_types import Json, JsonObject

_LONGEST_KEY = 200  # characters
_OURS = "question-"  # keys of our own begin with it, and no others


class _Question:
    def __init__(self, method: str, params: Mapping[str, Json]) -> None:
        self.content: JsonObject = {"method": method, "params": dict(params)}
        self.answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()


class Questions:
    """The open questions of one run, each under a key. `on_asked` hears of each that is put."""

    def __init__(self) -> None:
        self.on_asked: Callable[[], None] = lambda: None
        self._open: dict[str, _Question] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def contents(self) -> dict[str, JsonObject]:
        """The questions by their keys, each a method and its parameters."""
        return {key: question.content for key, question in self._open.items()}

    async def ask(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        """Put a question, and wait for the answer, whichever request brings it."""
        key = self._own_key(key)
        question = self._open[key] = _Question(method, params)
        self.on_asked()
        try:
            return await question.answer
        finally:
            self._open.pop(key, None)

    def answer(self, words: Mapping[str, JsonObject]) -> None:
        """Pass the answers on; a question without one stays open."""
        for key in self._open.keys() & words.keys():
            question = self._open.pop(key)
            if not question.answer.done():
                question.answer.set_result(words[key])

    def _own_key(self, key: str) -> str:
        """Return the asker's key, or one of ours where it is none, too long, taken, or could pass for one of ours.

        Whoever could take our next key would have the client's answer to them count as the answer to our question.
        """
        self._count += 1
        usable = 0 < len(key) <= _LONGEST_KEY and key not in self._open and not key.startswith(_OURS)
        return key if usable else f"{_OURS}{self._count}"
