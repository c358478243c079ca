"""Results: what is stored, and pages of one, as `ot.result` gives them."""

from __future__ import annotations

import time

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.errors import CallError, ExpiredResultError, UnknownResultError
from ot.execution.wording import word_error
from ot.results.kept_values import KeptValues
from ot.results.page import Query
from ot.results.reader import ResultReader
from ot.results.store import ResultStore

_LINES = 100
_MOST_SHOWN = 500


async def list_results(visit: Visit) -> Response:
    stored = await anyio.to_thread.run_sync(visit.who.part(ResultStore).all_now)
    context = visit.who.app.executor.context_for("ot.kept", visit.who.caller)
    kept = await visit.who.part(KeptValues).describe_all(context)
    names = {each["handle"]: each["name"] for each in kept}
    shown = stored[::-1][:_MOST_SHOWN]
    return visit.show("results.html.j2", results=shown, total=len(stored), names=names, now=time.time())


async def show_result(visit: Visit) -> Response:
    """Show a page of a result: from a line on, of lines that match, or of a part of it."""
    handle, asked = visit.request.path_params["handle"], visit.query
    query = Query(
        offset=_read_number(asked.get("offset", "")),
        limit=_LINES,
        search=asked.get("search", "")[:500],
        path=asked.get("path", "")[:500],
    )
    reader = visit.who.part(ResultReader)
    facts = await reader.facts(handle)
    problem, page = "", None
    try:
        page = await reader.query(handle, query)
    except (UnknownResultError, ExpiredResultError):
        raise
    except CallError as error:  # an invalid expression or path
        problem = word_error(error)
    return visit.show(
        "result.html.j2", handle=handle, facts=facts, page=page, query=query, problem=problem, now=time.time()
    )


def _read_number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) <= 12 else 1
