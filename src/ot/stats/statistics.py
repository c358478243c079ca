"""Statistics: what `ot.stats` and `onetool stats` answer, from the database of all servers of this person."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import ot.stats
from mcp_core.json_types import JsonObject
from mcp_core.nearest_names import nearest
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER, folder_of
from ot.config.values import RUN_TOOL
from ot.errors import InvalidPeriodError, StatsDisabledError
from ot.files.allowed_files import AllowedFiles, build_allowed_files
from ot.registry.registry import ToolRegistry
from ot.stats.recorder import Recorder
from ot.stats.scope import PERIODS
from ot.store.opening import Backend
from ot.store.parts import STATS_FILE, TeamSums
from ot.tasks.large_values import make_many

if TYPE_CHECKING:
    from ot.stats.figures import Summary


class Statistics:
    """Reads on a thread, since a year of calls takes a while; loads what that needs on first use."""

    def __init__(
        self, recorder: Recorder | None, registry: ToolRegistry, *, files: AllowedFiles, own: Callable[[], str] = str
    ) -> None:
        self._recorder = recorder
        self._registry = registry
        self._files = files  # where reports may be written
        self._own_definition = own  # what a client is told of us

    async def report(self, *, period: str = "all", tool: str = "", output: str = "") -> JsonObject:
        """The figures as plain values; with `output`, a page that shows them is written there too."""
        return await make_many(self._report, period, tool.strip(), output)  # it looks at every definition

    def _report(self, period: str, tool: str, output: str) -> JsonObject:
        summary = self.summarize(period, tool)
        described = describe(summary)
        if tool and not summary.tools:
            described["note"] = self._explain(tool)
        if output:
            described["html_report"] = str(self.write_report(summary, output, files=self._files))
        return described

    def summarize(self, period: str, tool: str = "") -> Summary:
        """The figures. Blocking: call it on a thread. Raises CallError."""
        if self._recorder is None:
            raise StatsDisabledError
        if period not in PERIODS:
            raise InvalidPeriodError(period, tuple(PERIODS))
        own = self._own_definition()
        if own:
            own = f"{own}\n{self._registry.word_packs()}"
        else:  # `run` is a tool among others, as OneTool's own assistant is told it
            runs = [tool for tool in self._registry.definitions() if tool.name == RUN_TOOL]
            own = "".join(map(ot.stats.write_definition, runs))
        length = PERIODS[period]
        with self._recorder.look(time.time() - length if length else 0.0) as connection:
            return ot.stats.summarize(connection, period=period, tool=tool, registry=self._registry, own_definition=own)

    def write_report(self, summary: Summary, output: str, *, files: AllowedFiles) -> Path:
        """Write the page to one of the allowed files. Raises ReportWriteError."""
        return ot.stats.write_report(output, lambda: ot.stats.render_report(summary), files=files)

    def _explain(self, tool: str) -> str:
        names = [definition.name for definition in self._registry.definitions()]
        if tool in names or any(name.startswith(f"{tool}.") for name in names):
            return f"no call of {tool} is recorded for this period"
        near = ", ".join(nearest(tool, names)[:5])
        return f"there is no tool {tool!r}, and no call of one is recorded; nearest: {near}"


def build_statistics(
    loaded: LoadedConfig, recorder: Recorder | None, registry: ToolRegistry, own_definition: Callable[[], str]
) -> Statistics:
    """Build the reader of statistics; reports may also be written to where runs may write."""
    files = build_allowed_files(loaded, also=loaded.config.execution.writable)
    return Statistics(recorder, registry, files=files, own=own_definition)


def sum_everybody(loaded: LoadedConfig, backend: Backend, people: Iterable[str], since: float) -> TeamSums:
    """Add up what everybody at a team's server has used since a moment; blocking. Raises CallError or OSError.

    Files do not say whose they are: `people` are the principals that are known, the others are shown by their folder.
    """
    known = {folder_of(principal): principal for principal in people}
    homes = (state_folder(loaded.machine_home) / PEOPLE_FOLDER).glob("*")
    files = [(known.get(home.name, home.name), state_folder(home) / STATS_FILE) for home in homes]
    return backend.sum_statistics(files, since)


def describe(summary: Summary) -> JsonObject:
    savings, saved = summary.savings, summary.time
    described: JsonObject = {"period": summary.period}
    if summary.tool:
        described["tool"] = summary.tool
    if summary.since is not None:
        from datetime import datetime  # noqa: PLC0415 - every engine has statistics, and few are asked for them

        described["since"] = datetime.fromtimestamp(summary.since).astimezone().isoformat(timespec="seconds")
    return described | {
        "total_calls": summary.total_calls,
        "success_rate": summary.success_rate,
        "context_saved": savings.saved,
        "time_saved_ms": saved.saved_ms,
        "runs": {"total": summary.runs, "failed": summary.failed_runs, "cost_more": summary.dearer_runs},
        "estimated_tokens": {**savings._asdict(), "direct": savings.direct, "sent": savings.sent},
        "estimated_time": saved._asdict(),
        "definitions_now": summary.offered._asdict(),
        "tools": [tool._asdict() for tool in summary.tools],
        "clients": [{**client._asdict(), "client": client.client or "command line"} for client in summary.clients],
        "models": [model._asdict() for model in summary.models],
    }
