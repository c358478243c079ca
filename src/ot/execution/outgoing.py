"""The way out: secrets are removed from values and errors, and values are packed for a kernel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ot.errors import OneToolError
from ot.execution.call import Call, Delivery, Step
from ot.journal.run_journal import INLINE
from ot.tasks.large_values import FileValue, aside_if_large, is_large
from ot.text.redaction import Redactor
from ot.values import ToolValue, expanded


class RedactionStep(Step):
    """Takes the secrets out of everything that a call gives, and delivers its value.

    `keep` writes a large value into the journal, before the code gets it: the run may end with that.
    """

    __slots__ = ("_keep", "_redactor")

    def __init__(self, redactor: Redactor, keep: Callable[[Call], Awaitable[None]] | None = None) -> None:
        self._redactor = redactor
        self._keep = keep

    def begin(self, call: Call) -> Awaitable[None] | None:
        large = is_large(call.value)
        if not large:
            call.value, call.packed = self.make_ready(call.value, call.delivery)
        if large or (self._keep is not None and len(call.packed) > INLINE):
            return self._deliver_large(call, ready=not large)
        if call.delivery is not None:
            call.delivery.send(call.packed)
        return None

    def fail(self, call: Call, error: BaseException) -> None:
        if isinstance(error, OneToolError):
            redact_error(error, self._redactor)

    def make_ready(self, value: ToolValue, delivery: Delivery | None) -> tuple[ToolValue, bytes]:
        """Return a value without secrets, and the same packed where there is a delivery; on whatever thread."""
        if delivery is None:
            value = expanded(value.read() if isinstance(value, FileValue) else value)
        if self._redactor.active:
            value = self._redactor.value(value)
        return value, delivery.pack(value) if delivery is not None else b""

    async def _deliver_large(self, call: Call, *, ready: bool) -> None:
        if not ready:
            call.value, call.packed = await aside_if_large(call.value, self.make_ready, call.value, call.delivery)
        if self._keep is not None and len(call.packed) > INLINE:
            await self._keep(call)
        if call.delivery is not None:
            call.delivery.send(call.packed)


def redact_error(error: OneToolError, redactor: Redactor) -> None:
    """Take the secrets out of an error's texts, which come from tools; the names it declares stay."""
    if redactor.active:
        for field, value in vars(error).items():
            if field not in error.names:
                setattr(error, field, redactor.value(value))
        error.args = redactor.value(error.args)
