"""Puts what is too long for an answer into the store, while the kernel that has it still lives."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from mcp_core.quick_dataclass import replace
from ot.errors import ResultNotKeptError, RunRefusedError
from ot.kernel.kernel import Kernel
from ot.results.store import ResultStore
from ot.run.outcome import Failure, Outcome, Printed, Value
from ot_kernel.stored_form import TEXT, VALUE
from ot_kernel.values import Record, UnsupportedValueError

PRINTED = "printed"


class Keeping:
    """Keeps what a run gave or printed. A run that went well stays so where something cannot be kept."""

    def __init__(self, results: ResultStore) -> None:
        self._results = results

    async def keep(self, outcome: Outcome, kernel: Kernel, *, limit: int, read_before: Collection[str]) -> Outcome:
        """Return the outcome, with what is too long for an answer in the store."""
        printed = outcome.printed
        if printed.dropped or len(printed.text) > limit:
            outcome = replace(outcome, printed=await self._keep_printed(printed, kernel, read_before))
        if isinstance(outcome, Value) and outcome.large is not None:
            return await self._keep_large(outcome, kernel, read_before)
        return outcome

    async def keep_value(self, outcome: Value, *, read_before: Collection[str]) -> Value:
        """Keep a value that has crossed whole."""
        try:
            return replace(outcome, stored=await self._results.keep_value(outcome.value, read_before=read_before))
        except ResultNotKeptError as error:
            return replace(outcome, not_kept=error.reason)
        except UnsupportedValueError as error:
            return replace(outcome, not_kept=str(error))

    async def _keep_large(self, outcome: Value, kernel: Kernel, read_before: Collection[str]) -> Outcome:
        assert outcome.large is not None
        kind = TEXT if outcome.large.kind == TEXT else VALUE
        head = self._results.redactor.value(outcome.value)
        opened = partial(kernel.open_file, outcome.large.name)
        try:
            stored = await self._results.keep_file(opened, kind, what=_type_name(head, kind), read_before=read_before)
        except RunRefusedError as error:
            return Failure(error, outcome.printed)
        except ResultNotKeptError as error:
            return replace(outcome, value=head, large=None, not_kept=error.reason)
        return replace(outcome, value=head, large=None, stored=stored)

    async def _keep_printed(self, printed: Printed, kernel: Kernel, read_before: Collection[str]) -> Printed:
        try:
            stored = await self._results.keep_file(kernel.open_printed, TEXT, what=PRINTED, read_before=read_before)
            return replace(printed, stored=stored)
        except ResultNotKeptError:
            return printed  # beginning and end are shown, as far as there is room


def _type_name(head: object, kind: str) -> str:
    if isinstance(head, str) and kind == VALUE:
        return VALUE  # a number so long that its head is text
    return head.record_name if isinstance(head, Record) else type(head).__name__
