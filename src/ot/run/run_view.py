"""RunView of a run while it goes on: what it has printed, and what it is doing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_core.quick_dataclass import dataclass
from ot.run.kernel_session import KernelSession
from ot.run.outcome import Outcome, Printed


@dataclass(frozen=True, slots=True)
class Seen:
    """A look at a run: the output since the last look, the calls being made, and the line, if the code could tell."""

    begun: bool  # False while it waits for a kernel, or for servers that it needs
    printed: Printed
    calls: tuple[tuple[str, float], ...]
    line: int | None


class RunView:
    """A window on one run; empty before its code runs, and afterwards but for its outcome."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self._program: KernelSession | None = None
        self._begun = False
        self._shown = 0  # bytes of the output

    @contextmanager
    def opened(self, program: KernelSession) -> Iterator[None]:
        """Let others see a program as long as its kernel is there."""
        self._program, self._begun = program, True
        try:
            yield
        finally:
            self._program = None

    async def look(self, *, from_start: bool = False) -> Seen:
        """See what it is doing and what it has printed: since the last look, or since its start."""
        start, program = 0 if from_start else self._shown, self._program
        line = await program.find_line() if program is not None else None
        program = self._program  # it may have ended meanwhile
        if program is None:
            return Seen(begun=self._begun, printed=Printed(), calls=(), line=None)
        printed, end = program.printed_since(start)
        self._shown = max(self._shown, end)
        return Seen(begun=True, printed=printed, calls=tuple(program.calls_in_flight()), line=line)
