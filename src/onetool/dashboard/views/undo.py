"""The undo of a run: the person is shown what would be taken back, and agrees to just that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.clients.caller import Choice
from ot.context import reset_current, set_current
from ot.run.runs import Runs
from ot_packs.undo.plan import Plan
from ot_packs.undo.undoing import plan_undo, require_doable


async def show_undo(visit: Visit) -> Response:
    plan = await _plan(visit)
    redact = visit.who.app.redactor.text
    return visit.show(
        "undo.html.j2",
        run=plan.run,
        final=[redact(words) for words in plan.final],
        blocked=[(redact(step.words), redact(step.problem), redact(step.difference)) for step in plan.blocked],
        doable=[redact(step.words) for step in plan.doable],
        digest=_digest(plan),
    )


async def undo_run(visit: Visit) -> Response:
    """Undo a run as a run of its own; if other things would be taken back by now, the person is shown those first."""
    shown, name = (await visit.form()).get("plan", ""), visit.request.path_params["run"]
    if shown != _digest(await _plan(visit)):
        return visit.go_to(f"/runs/{name}/undo?done=replanned")

    async def agree(_question: str, _choices: Sequence[Choice]) -> Choice:
        return Choice.ONCE

    undo = visit.who.part(Runs).begin(f"ot.undo(run={json.dumps(name)})", replace(visit.who.caller, ask=agree))
    await undo.follow()
    return visit.go_to(f"/runs/{undo.id}?done=undone")


async def _plan(visit: Visit) -> Plan:
    """Look at what an undo would do; raises CallError where there is nothing."""
    context = visit.who.app.executor.context_for("ot.undo", visit.who.caller)
    token = set_current(context)
    try:
        plan, _ = await plan_undo(context, visit.request.path_params["run"])
    finally:
        reset_current(token)
    require_doable(plan)
    return plan


def _digest(plan: Plan) -> str:
    words = [plan.final, *([step.words, step.problem, step.difference] for step in plan.steps if not step.done)]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()
