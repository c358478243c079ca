"""Tasks of another server: the states that it reports, as plain JSON, which may hold anything.

A task has one of two forms: that of the extension `io.modelcontextprotocol/tasks` of 2026, and that of 2025-11-25.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from mcp_core.json_types import Json, JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass
from mcp_core.visible_text import visible

EXTENSION = "io.modelcontextprotocol/tasks"
Form = Literal["extension", "2025-11-25"]
DEFAULT_INTERVAL = 1.0  # seconds between two looks, where the server does not say
_SHORTEST_INTERVAL, _LONGEST_INTERVAL = 0.05, 600.0  # seconds
_LONGEST_ID = 1_000  # characters
_LONGEST_MESSAGE = 400  # characters
_MOST_REQUESTS = 32  # that wait at once
_STATUSES = frozenset({"working", "input_required", "completed", "failed", "cancelled"})
_RELATED = "io.modelcontextprotocol/related-task"


class BadTaskError(Exception):
    """A server's answer about a task makes no sense; the reason completes "the server NAME ..."."""


@dataclass(frozen=True, slots=True)
class ServerTask:
    """A call that goes on at its server as a task, and how long to wait until the first look at it."""

    id: str
    form: Form
    interval: float = 0.0  # seconds

    def describe(self, place: str) -> JsonObject:
        """Describe it for the journal, with the place of its server."""
        return {"id": self.id, "form": self.form, "place": place}


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task at one moment."""

    status: str
    message: str  # a short line
    interval: float  # seconds until the next look
    requests: Mapping[str, Json]  # what the server wants to know, by its keys
    result: Json = None
    error: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")


def read_task(found: Mapping[str, object], form: Form) -> ServerTask:
    """Read what a server says of a task that it has begun; raises BadTaskError."""
    name = found.get("taskId")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_ID or not name.isprintable():
        raise BadTaskError("began a task without a usable id")
    return ServerTask(name, form, _read_interval(found, form))


def recall_task(recorded: Mapping[str, Json], place: str) -> ServerTask | None:
    """Read a task from the journal; None if it is not one of the server at this place."""
    match recorded:
        case {"id": str(name), "form": "extension" | "2025-11-25" as form, "place": str(kept)} if kept == place:
            return ServerTask(name, form)
    return None


def read_state(found: Mapping[str, Json], task: ServerTask) -> TaskState:
    """Read the state of a task; raises BadTaskError."""
    if found.get("taskId") != task.id:
        raise BadTaskError("answered with the state of another task")
    status, said = found.get("status"), found.get("statusMessage")
    if not isinstance(status, str) or status not in _STATUSES:
        raise BadTaskError("reported its task in an unknown state")
    requests = mapping_of(found.get("inputRequests")) if status == "input_required" else {}
    if len(requests) > _MOST_REQUESTS or any(len(key) > _LONGEST_ID for key in requests):
        raise BadTaskError(f"asked more than {_MOST_REQUESTS} questions at once, or under names that are too long")
    message = visible(said[:_LONGEST_MESSAGE]) if isinstance(said, str) else ""
    error = mapping_of(found.get("error")).get("message")
    interval = _read_interval(found, task.form)
    return TaskState(status, message, interval, requests, found.get("result"), error if isinstance(error, str) else "")


def check_result(result: Json, task: ServerTask) -> JsonObject:
    """Return the result of a call that was a task; raises BadTaskError."""
    if not isinstance(result, dict) or result.get("resultType", "complete") != "complete":
        raise BadTaskError("ended its task without a result")
    related = mapping_of(mapping_of(result.get("_meta")).get(_RELATED)).get("taskId", task.id)
    if related != task.id:
        raise BadTaskError("answered with the result of another task")
    return result


def _read_interval(found: Mapping[str, object], form: Form) -> float:
    said = found.get("pollIntervalMs" if form == "extension" else "pollInterval")
    if isinstance(said, bool) or not isinstance(said, int | float) or not said > 0 or math.isnan(said):
        return DEFAULT_INTERVAL
    return min(max(said / 1000 if said < _LONGEST_INTERVAL * 1000 else math.inf, _SHORTEST_INTERVAL), _LONGEST_INTERVAL)
