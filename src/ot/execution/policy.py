"""Policy: the tools that the configuration denies, and those that a person must agree to."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ot.caller import Caller
from ot.errors import ConsentError, ToolDeniedError
from ot.execution.call import Call
from ot.log_text import brief
from ot.redaction import Redactor
from ot.values import Arguments


def refuse_denied(call: Call) -> None:
    """Raise ToolDeniedError for a tool that `policy.deny` names."""
    if call.tool.denied_by is not None:
        raise ToolDeniedError(call.name, call.tool.denied_by)


class Consent:
    """Asks the person in front of a caller; no secret stands in a question."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    async def obtain(self, call: Call, arguments: Arguments) -> None:
        """Raise ConsentError unless the person agrees to a call."""
        question = f"Allow {call.name} with {brief(arguments, self._redactor.text)}?"
        if not await self.ask(question, call.caller, call.name, held(call.caller)):
            raise ConsentError(call.name, "the answer was no")

    async def ask(self, question: str, caller: Caller, tool: str, clock: AbstractContextManager[None]) -> bool:
        """Ask yes or no while `clock` is held; raises ConsentError where nobody can be asked."""
        if caller.ask is None:
            raise ConsentError(tool, "nobody can be asked here")
        with clock:
            return await caller.ask(self._redactor.text(question))


def held(caller: Caller) -> AbstractContextManager[None]:
    """Let a caller's clock stand still."""
    return nullcontext() if caller.hold is None else caller.hold()
