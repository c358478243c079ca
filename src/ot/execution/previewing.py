"""A preview: reads are made; calls that may have an effect, or that a person would be asked about, are listed.

`Preview` is the list of one run, which its steps find in the memory of the run. A listed call gives a stand-in: code
can hand it on, and where it needs what is in it, the preview ends (`ot_kernel.stand_in`). A call inside another one
cannot be listed by itself; the call around it is listed instead, as far as that lets its error through.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Awaitable, Callable

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.context import CallContext, CallServices, reset_current, set_current
from ot.errors import (
    FlowDeniedError,
    LateResumeError,
    NoPreviewError,
    NotMadeError,
    OneToolError,
    RecordedFailureError,
    ToolDeniedError,
)
from ot.execution.call import Call, PreparedTool, Step
from ot.execution.invocation import CallStep
from ot.execution.plans import MOST_BYTES, Listed, Preview, is_paid
from ot.execution.policy import DenyStep, Policy
from ot.execution.resuming import RunStep
from ot.execution.subject import BY_ITSELF, Subject
from ot.execution.validation import ArgumentStep
from ot.execution.wording import word_error
from ot.files.ahead import ForeseenChanges
from ot.journal.journal import PREVIEW, RESUME, Journal
from ot.journal.planned import Place, PlannedCall, find_unmade
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.journal.reuse import JournalledValue
from ot.journal.run_journal import value_in
from ot.logs import write_log
from ot.registry.definitions import Cancellation, ToolDefinition
from ot.tasks.large_values import LARGE_MESSAGE, FileValue, aside
from ot.text.redaction import Redactor
from ot.values import Arguments, OpaqueValue, Unmade, expanded
from ot_kernel.values import Encoded, UnsupportedValueError

MOST_LISTED = 500  # calls
LONGEST_LOOK = 5.0  # seconds for finding out what a call would change
_PREVIEWERS = "ot_packs.previews"  # a module for each pack, a function for each tool


def preview_of(call: Call) -> Preview:
    plan = call.caller.run_memory.plan if call.caller.run_memory is not None else None
    assert isinstance(plan, Preview), "such steps are only for calls of a preview"
    return plan


class PreviewStep(RunStep):
    """Lets a call that only reads pass, and lists any other; in place of all steps that come before a call."""

    __slots__ = ("_check", "_deny", "_policy", "_services")

    def __init__(
        self,
        tool: PreparedTool,
        journal: Journal,
        redactor: Redactor,
        check: ArgumentStep,
        policy: Policy,
        services: CallServices,
    ) -> None:
        super().__init__(tool, journal, redactor)
        self._check = check
        self._deny = DenyStep(tool)
        self._policy = policy
        self._services = services

    async def begin(self, call: Call) -> bool:
        """Raises what the call would be refused with, NotMadeError, LateResumeError and NoPreviewError."""
        preview = preview_of(call)
        if call.name == RESUME and preview.journal is None:  # what it found has been made, or answers calls below
            call.value, call.reused = JournalledValue(b"null"), True
            return True
        if call.name == RESUME:
            raise LateResumeError(RESUME)
        if call.name == PREVIEW and preview.journal is not None:
            return False
        given = call.arguments, call.positional
        large = len(call.sent) > LARGE_MESSAGE
        unmade = await aside(lambda: any(find_unmade(given))) if large else any(find_unmade(given))
        try:
            self._deny.begin(call)
            digest = await self._compare(call, unmade=unmade)
            if (before := preview.answers.take(digest)) is not None and not call.depth:
                return await self._answer(call, preview, before)
            caller = preview.known_to(call.caller)
            subject = await self._policy.examine(self._tool.guard, call.bound, caller)
        except (ToolDeniedError, FlowDeniedError) as error:
            if not call.depth:
                await self.add(call, preview, refused=word_error(error))
            raise
        is_skill = self._tool.definition.cancellation is Cancellation.SKILL
        if self._tool.reads and subject is None and (not unmade or is_skill):
            call.journal = None if preview.journal is None or is_skill else preview.journal
            if self._tool.guard.guarded:
                call.caller.memory.note(self._tool.guard.names, by_value=self._tool.guard.brings)
            return False
        if call.depth:
            raise NotMadeError(call.name)
        changes = None if self._tool.reads or unmade else await self._foresee(call, preview)
        return await self.add(call, preview, digest, subject, changes=changes)

    async def _foresee(self, call: Call, preview: Preview) -> ForeseenChanges | None:
        """Have a built-in pack tell what a call would change; None where it cannot."""
        tell = find_previewer(self._tool.definition)
        if tell is None or preview.journal is None:
            return None
        changes = ForeseenChanges(preview.files)
        token = set_current(CallContext(call.name, self._services, caller=call.caller, depth=call.depth))
        try:
            with anyio.fail_after(LONGEST_LOOK):
                await tell(changes, **call.bound)
        except (NotMadeError, ToolDeniedError, FlowDeniedError):  # by a tool that tells what there is
            return None
        except OneToolError as error:
            changes.say(f"as things are, it would fail: {word_error(error)}")
        except Exception as error:  # noqa: BLE001 - what would change is not known then, and nothing else
            write_log(logging.INFO, "preview.changes", tool=call.name, error=type(error).__name__)
            return None
        finally:
            reset_current(token)
        return changes

    def end(self, call: Call) -> None:
        """Keep what a read gave for the run itself; after a listed effect, only what somebody pays for."""
        preview = preview_of(call)
        if preview.journal is not None or call.reused or call.depth or isinstance(call.value, OpaqueValue):
            return
        paid = is_paid(self._tool.definition)
        if self._is_journalled and (paid or all(listed.call.reads for listed in preview.listed)):
            preview.room -= len(call.packed)
            if preview.room >= 0:
                kept = preview.paid if paid else preview.made
                kept.append((self.digest(call.bound), value_in(call.packed)))

    async def _compare(self, call: Call, *, unmade: bool) -> str:
        """Bind and check the arguments, and return the digest of the call; raises ToolArgumentError."""
        if unmade:
            call.bound = self._check.bind(call.positional, call.arguments, whole=False)
        elif (binding := self._check.begin(call)) is not None:
            await binding
        if any(isinstance(value, FileValue) for value in call.bound.values()):
            return ""  # it is equal to no other
        given = expanded(call.bound) if unmade else call.bound
        return await aside(self.digest, given) if len(call.sent) > LARGE_MESSAGE else self.digest(given)

    async def add(
        self,
        call: Call,
        preview: Preview,
        digest: str = "",
        subject: Subject | None = None,
        refused: str = "",
        changes: ForeseenChanges | None = None,
    ) -> bool:
        """List a call; one that is not refused gets a stand-in. Raises NoPreviewError where there is no room for it."""
        preview.room -= len(call.sent)
        if len(preview.given) >= MOST_LISTED or preview.room < 0:
            raise NoPreviewError(f"it lists at most {MOST_LISTED} calls, with {MOST_BYTES // 2**20} MB of arguments")
        given = call.bound or call.arguments
        large = len(call.sent) > LARGE_MESSAGE
        arguments, places = await aside(self._describe, given) if large else self._describe(given)
        # A file that the kernel has written is gone with it.
        kept = {name: repr(value) if isinstance(value, FileValue) else value for name, value in given.items()}
        shown = (subject or Subject(call.name, "", given))._replace(arguments=kept)
        preview.given.append(call.name)
        if not refused:
            call.value, call.reused = Unmade(len(preview.given), call.name), True
        planned = PlannedCall(
            len(preview.given),
            call.name,
            digest,
            arguments,
            places,
            self._tool.reads,
            shown.reasons,
            refused,
            {} if changes is None else changes.before,
        )
        preview.add(Listed(planned, shown, "" if changes is None else "\n".join(changes.words)))
        if changes is not None:
            preview.files.take(changes)
        if self._tool.guard.guarded:
            preview.read.update(self._tool.guard.names)
        return True

    def _describe(self, arguments: Arguments) -> tuple[Encoded, tuple[Place, ...]]:
        """Return arguments as the journal has them, and the places of stand-ins in them."""
        try:
            return self.encoded(arguments), tuple(find_unmade(arguments))
        except UnsupportedValueError:
            return None, ()

    async def _answer(self, call: Call, preview: Preview, before: RecordedCall | bytes) -> bool:
        """Give what an equal call gave before, or raise what it raised."""
        call.reused = True
        if isinstance(before, RecordedCall) and before.outcome is CallOutcome.ERROR:
            raise RecordedFailureError(call.name, before.kind or "RuntimeError", before.error)
        value = await aside(value_of, before, self._journal)
        if value is None:  # it had its effect, and nobody knows what it gave
            preview.given.append(call.name)
            call.value = Unmade(len(preview.given), call.name)
            return True
        call.value = JournalledValue(value)
        return True


Previewer = Callable[..., Awaitable[None]]
"""Fills in what a call with these arguments would change; it only reads."""


def find_previewer(definition: ToolDefinition) -> Previewer | None:
    """Return the function of a built-in pack that can tell what a call of this tool would change."""
    if definition.source != "local" or definition.file is None or definition.file.parent.name != "ot_tools":
        return None
    try:
        module = importlib.import_module(f"{_PREVIEWERS}.{definition.pack}")
    except ModuleNotFoundError:
        return None
    found: Previewer | None = getattr(module, definition.tool, None)
    return found


def value_of(call: RecordedCall | bytes, journal: Journal) -> bytes | None:
    """Return what a call gave, encoded; None where that is not kept. Blocking."""
    if isinstance(call, bytes):
        return call
    if call.value_at is None:
        return json.dumps(call.value, separators=(",", ":")).encode("ascii") if call.has_value else None
    try:
        return journal.store.fetch(call.value_at)
    except OSError:
        return None


@dataclass(eq=False, slots=True)
class PreviewCallStep(Step):
    """Makes a call that only reads; one that would have to ask, or to do more, is listed after all."""

    _call: CallStep
    _preview: PreviewStep

    async def begin(self, call: Call) -> bool:
        try:
            return await self._call.begin(call)
        except NotMadeError:
            if call.depth:
                raise
            preview = preview_of(call)
            digest = await aside(self._preview.digest, call.bound)
            subject = Subject(call.name, BY_ITSELF, call.bound, reasons=(BY_ITSELF,))
            return await self._preview.add(call, preview, digest, subject)
