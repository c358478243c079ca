"""Runs as tasks of the extension `io.modelcontextprotocol/tasks`, in the protocol's form; nothing of the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_core.json_types import Json, JsonObject
from onetool.front.definition import TASKS
from onetool.front.rendering import render_answer
from ot.run.answer import TaskNote

if TYPE_CHECKING:
    from ot.run.run_tasks import TaskState

GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"
NO_SUCH_TASK = "Unknown task: there is none with this id, or it is no longer kept."
POLL_INTERVAL = 1_000  # milliseconds


def takes_tasks(capabilities: Mapping[str, object] | None) -> bool:
    """True if a client says that it takes a task for an answer."""
    extensions = (capabilities or {}).get("extensions")
    return isinstance(extensions, Mapping) and TASKS in extensions


def render_begun(note: TaskNote) -> JsonObject:
    """Return the result of a call that goes on as a task."""
    return {**_describe(note, "working"), "resultType": "task"}


def render_state(state: TaskState, revision: str) -> JsonObject:
    """Return the state of a task, with its questions, or with its answer."""
    more: JsonObject = {}
    status = "input_required" if state.questions else "working"
    if state.answer is not None:
        status = "completed"
        more["result"] = {**render_answer(state.answer, revision), "resultType": "complete"}
    elif state.questions:
        more["inputRequests"] = dict(state.questions)
    return {**_describe(state.note, status), **more, "resultType": "complete"}


def _describe(note: TaskNote, status: str) -> JsonObject:
    words: JsonObject = {"statusMessage": note.message} if note.message else {}
    return {
        "taskId": note.id,
        "status": status,
        **words,
        "createdAt": _iso(note.began),
        "lastUpdatedAt": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "ttlMs": round(note.ttl * 1000),
        "pollIntervalMs": POLL_INTERVAL,
    }


def _iso(seconds: float) -> Json:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
