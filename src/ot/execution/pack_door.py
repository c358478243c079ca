"""PackDoor: what is behind the context of a call, for the tool being called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, field, replace
from ot.audit.log import AuditLog
from ot.clients.caller import Milestone, previews
from ot.config.models import Config
from ot.config.paths import FOLDER, PackFolders
from ot.config.secrets import Deferred, Secrets
from ot.context import CallContext, OwnQuestion, Part
from ot.errors import CallError, ConsentError, KeychainError, MissingSecretError, NotMadeError, ToolError
from ot.execution.auditing import audit_answer, audit_refusal
from ot.execution.consent import held, word_said
from ot.execution.policy import Policy, refuse_denied
from ot.execution.rules import build_guard
from ot.registry.definitions import Cancellation
from ot.registry.registry import ToolRegistry
from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue


@dataclass(eq=False)
class PackDoor:
    """Gives a tool its pack's configuration and secrets, parts of the engine, other tools, and a way to its caller."""

    registry: ToolRegistry
    settings: Config
    _secrets: Secrets
    project: Path
    _redactor: Redactor
    _policy: Policy
    _call: Callable[..., Awaitable[ToolValue]]
    _audit: AuditLog | None
    _parts: dict[type, object] = field(default_factory=dict)

    def apply(self, config: Config, secrets: Secrets) -> None:
        self.settings = config
        self._secrets = secrets

    def lend(self, *parts: object) -> None:
        """Let built-in packs use parts of the engine; they find them by their types."""
        self._parts |= {type(part): part for part in parts}

    def part(self, kind: type[Part]) -> Part:
        """Return a part that was lent; raises ToolError where this engine has none."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            raise ToolError(f"{kind.__name__} is not available here")
        return found

    def options_of(self, tool: str) -> Mapping[str, object]:
        settings = self.settings.packs.get(tool.partition(".")[0])
        return settings.options if settings else {}

    def state_of(self, tool: str) -> Path:
        """Return the folder for what a tool's pack keeps; raises ToolError where this engine has none."""
        return self.part(PackFolders).folder_of(tool.partition(".")[0])

    def output_of(self, tool: str, argument: str) -> Path:
        """Refuse: the files that arguments name are made by isolated tools, in their helper process."""
        raise ToolError(f"{tool} is not isolated, so it has no output file for {argument}")

    def unlock(self, names: Iterable[str]) -> Awaitable[None] | None:
        """Read those secrets that are in the keychain, so that `secret_for` need not wait; None if there is none."""
        deferred = self._secrets.deferred(names)
        return self._read(deferred) if deferred else None

    async def _read(self, deferred: Iterable[Deferred]) -> None:
        for each in deferred:
            try:
                await anyio.to_thread.run_sync(each.read, self._redactor.learn, abandon_on_cancel=True)
            except KeychainError as error:
                raise ToolError(f"{error.reason}: {error.fix}") from error

    def secret_for(self, tool: str, name: str) -> str:
        """Return a declared secret; from then on its value is known and redacted."""
        definition = self.registry.get(tool)
        if name not in definition.secrets:
            raise ToolError(f"the pack of {tool} does not declare the secret {name}")
        if definition.cancellation is Cancellation.WORKER:  # the person's environment variables are not for extensions
            of_project = definition.file is not None and definition.file.is_relative_to(self.project / FOLDER)
            value = self._secrets.for_extension(name, of_project=of_project)
        else:
            value = self._secrets.get(name)
        if not value and self._secrets.unreadable:
            raise ToolError(f"your secrets cannot be opened at present, so {name} is not known; tell the operator")
        if not value:
            raise MissingSecretError(name)
        self._redactor.learn(value)
        return value

    async def call_within(self, context: CallContext, name: str, arguments: Arguments) -> ToolValue:
        """Make a call for a tool: through the same door, within what is left of its own time."""
        context.inside = context.inside or set()
        caller = replace(
            context.caller,
            remaining=context.remaining,
            timeout=None,
            hold=context.held,
            changes=context.changes,
            inside=context.inside,
        )
        return await self._call(name, arguments, caller=caller, depth=context.depth + 1)

    async def progress_within(self, context: CallContext, done: float, total: float | None, message: str) -> None:
        """Tell whoever waits, without secrets."""
        if context.caller.progress is not None:
            text = self._redactor.text(message)
            await context.caller.progress(done, total, Milestone(text) if isinstance(message, Milestone) else text)

    async def ask_within(self, context: CallContext, asked: OwnQuestion) -> bool:
        """Ask the person behind the caller, without secrets; raises NotMadeError in a preview."""
        if previews(context.caller):
            raise NotMadeError(context.tool)
        guard = build_guard(self.registry.get(context.tool).all_names, self.settings.policy)
        with self.hold_within(context):
            try:
                said = await self._policy.ask(asked, guard, context.caller)
            except ConsentError as error:
                audit_answer(self._audit, context, error.reason)
                raise
        if guard.allowed_by is not None:
            audit_answer(self._audit, context, f"policy.allow names {guard.allowed_by}")
        else:
            audit_answer(self._audit, context, word_said(said))
        return said.choice is not None

    async def admit_within(self, context: CallContext, names: tuple[str, ...], arguments: Arguments) -> None:
        """Apply the policy to something that is not a tool, but that a tool is asked to get."""
        guard = build_guard(names, self.settings.policy)
        try:
            refuse_denied(guard)
            if previews(context.caller) and await self._policy.judge(guard, arguments, context.caller):
                raise NotMadeError(context.tool)
            if not guard.simple:
                with self.hold_within(context):
                    await self._policy.admit(guard, arguments, context.caller)
                if guard.brings:
                    context.inside = {*(context.inside or ()), guard.names}
        except CallError as error:
            await audit_refusal(self._audit, names[0], arguments, context.caller, context.depth + 1, error)
            raise

    @contextmanager
    def hold_within(self, context: CallContext) -> Iterator[None]:
        """Stop the clock of a call, of the calls around it and of the run."""
        with held(context.caller):
            context.hold()
            try:
                yield
            finally:
                context.release()
