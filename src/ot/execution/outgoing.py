"""The way out: values and errors without secrets, packed for whoever wants them packed."""

from __future__ import annotations

from ot.errors import OneToolError
from ot.execution.call import Delivery
from ot.tasks.large_values import FileValue
from ot.text.redaction import Redactor
from ot.values import ToolValue, expanded


class Outgoing:
    """Takes the secrets out of everything that a call gives."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def make_ready(self, value: ToolValue, delivery: Delivery | None) -> tuple[ToolValue, bytes]:
        """Return a value without secrets, and the same packed where there is a delivery; on whatever thread."""
        if delivery is None and isinstance(value, FileValue):
            value = value.read()
        if delivery is None:
            value = expanded(value)
        if self._redactor.active:
            value = self._redactor.value(value)
        return value, delivery.pack(value) if delivery is not None else b""

    def redact(self, error: OneToolError) -> None:
        """Take the secrets out of an error's texts, which come from tools; the names it declares stay."""
        if self._redactor.active:
            for field, value in vars(error).items():
                if field not in error.names:
                    setattr(error, field, self._redactor.value(value))
            error.args = self._redactor.value(error.args)
