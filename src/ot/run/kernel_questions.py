"""Questions of a kernel besides calls: about packs, about calls that it is certain to make, about its files."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Caller
from ot.errors import CallError, PreflightError, SkillPreflightError, UntrustedPackError
from ot.execution.records import redact_error
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import builtin_kind, word_error
from ot.kernel.kernel import Kernel
from ot.run.namespace import Namespace
from ot.run.outcome import MAX_NAME
from ot.run.preflight import MAX_KEYWORDS, MAX_PROBLEMS, MAX_REFERENCES, Reference, judge, refuse_long_names
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import encode
from ot_kernel.wire import Message


@dataclass(frozen=True, slots=True)
class KernelQuestions:
    """Answers the questions of one kernel."""

    kernel: Kernel
    executor: ToolExecutor
    namespace: Namespace
    caller: Caller

    def answer(self, message: Message) -> None:
        match message["op"]:
            case "attribute":
                pack, name = message["pack"], message["name"]
                self._answer(message["id"], [pack, name], partial(self._find_attribute, pack, name))
            case "describe":
                described = partial(self.namespace.describe, message["name"], self.caller.principal)
                self._answer(message["id"], [message["name"]], lambda: self.executor.redactor.value(described()))
            case "judge":  # the calls of a skill go wrong where it is called, and not for the run as a whole
                try:
                    self.judge(message)
                except PreflightError as error:
                    skill, file = str(message["name"])[:MAX_NAME], str(message["file"])[:MAX_NAME]
                    send_error(self.kernel, message["id"], SkillPreflightError(skill, file, error.problems))
                else:
                    self.kernel.send({"id": message["id"], "value": None})
            case "attributes":
                self._change_file(message)
            case other:
                raise KeyError(other)

    def judge(self, message: Message) -> None:
        """Look at calls that are certain to be made; raises PreflightError."""
        if len(message["references"]) > MAX_REFERENCES:
            raise ValueError(f"more than {MAX_REFERENCES:,} calls are written out")
        if any(len(reference["keywords"]) > MAX_KEYWORDS for reference in message["references"]):
            raise ValueError(f"a call has more than {MAX_KEYWORDS:,} arguments")
        written: Any = message["references"]
        references = [Reference(**{**each, "keywords": tuple(each["keywords"])}) for each in written]
        try:
            judge(references, self.namespace.registry, partial(self.executor.foresee_refusal, caller=self.caller))
        except PreflightError as error:
            for _, problem in error.problems:
                redact_error(problem, self.executor.redactor)  # signatures come from servers
            named = (f"{each.pack}.{each.tool}" for each in references[:MAX_PROBLEMS])
            self.executor.note_refused(named, self.caller)
            raise

    def _find_attribute(self, pack: str, name: str) -> ProjectPath | None:
        try:
            return self.namespace.attribute(pack, name)
        except UntrustedPackError:
            self.executor.note_refused([f"{pack}.{name}"], self.caller)
            raise

    def _change_file(self, message: Message) -> None:
        """Change a file in the scratch folder, and answer with the number of what went wrong."""
        mode, times, number = message.get("mode"), message.get("times"), 0
        try:
            path = [str(part) for part in message["path"]]
            self.kernel.scratch.change(
                path,
                mode=None if mode is None else int(mode),
                times=None if times is None else (int(times[0]), int(times[1])),
            )
        except OSError as error:
            number = error.errno or errno.EIO
        except (ValueError, OverflowError):
            number = errno.EINVAL
        self.kernel.send({"id": message["id"], "value": number})

    def _answer(self, number: int, names: list[str], question: Callable[[], object]) -> None:
        try:
            refuse_long_names(names)
            self.kernel.send({"id": number, "value": encode(question())})
        except CallError as error:
            send_error(self.kernel, number, error)


def send_error(kernel: Kernel, number: int, error: CallError) -> None:
    """Answer a call or a question of the code with what it is to raise."""
    kernel.send({"id": number, "error": {"kind": builtin_kind(error), "message": word_error(error)}})
