"""Runs that are resumed, in tests: an engine with tools whose effects can be counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import anyio

from ot.app import App
from ot.clients.caller import NOBODY, Caller
from ot.effects import Effect
from ot.errors import ToolError
from tests.opened_executor import define

_WAY_ON = re.compile(r'ot\.resume\(run="(r\w+)"\)')


class World:
    """What calls have done: each effect is appended to `done`, and reading shows them."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.reads = 0
        self.fail = False  # the next call with effect raises before it has one
        self.waiting: Callable[[], None] | None = None

    def add_to(self, app: App) -> None:
        for name, function, effect in (
            ("world.do", self.do, Effect.UNKNOWN),
            ("world.set", self.do, Effect.IDEMPOTENT),
            ("world.look", self.look, Effect.READS),
            ("world.block", self.block, Effect.UNKNOWN),
            ("world.give", self.give, Effect.READS),
            ("world.make", self.make, Effect.UNKNOWN),
            ("world.load", self.do, Effect.UNKNOWN),
        ):
            app.registry.register(define(name, declared=effect, takes_rows=name == "world.load"), function)

    async def do(self, arguments: dict[str, Any]) -> str:
        if self.fail:
            self.fail = False
            raise ToolError("not now")
        self.done.append(str(arguments.get("what", "")))
        return f"{arguments.get('what', '')} {len(self.done)}"

    async def look(self, arguments: dict[str, Any]) -> list[str]:
        self.reads += 1
        return list(self.done)

    async def block(self, arguments: dict[str, Any]) -> None:
        """Have an effect, and never end."""
        await self.do(arguments)
        await anyio.sleep_forever()

    async def give(self, arguments: dict[str, Any]) -> Any:
        self.reads += 1
        return _VALUES[arguments["kind"]]

    async def make(self, arguments: dict[str, Any]) -> Any:
        await self.do({"what": arguments["kind"]})
        return _VALUES[arguments["kind"]]


_VALUES: dict[str, object] = {
    "nan": [float("nan"), float("inf"), -0.0],
    "large": [{"n": n, "text": "x" * 50} for n in range(5_000)],
    "dict": {1: "a", "1": "b", (1, 2): {3}},
    "odd": object(),
}


async def fail_in(app: App, code: str, caller: Caller = NOBODY) -> str:
    """Run code that fails and return the name of the run that its answer gives, empty if it gives none."""
    answer = await app.runner.run(code, caller=caller)
    assert answer.is_error, answer.text
    found = _WAY_ON.search(answer.text)
    return found[1] if found else ""
