"""Questions of runs whose clients have no forms: shown with the runs, and answered here, each person's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio.to_thread
from starlette.responses import Response

from onetool.control import ANSWERED_IN
from onetool.control.asking import find_questions, settle_question
from onetool.dashboard.visit import RefusedFormError, Visit
from ot.clients.caller import ALL_WORDS, CHOICE_WORDS, SOME_WORDS, Choice, Said, Some
from ot.config.loader import LoadedConfig
from ot.errors import ConfigError
from ot.logs import LogSpan
from ot.run.client_requests import OpenQuestion
from ot.run.runs import Runs

PLACE, SOME = "dashboard", "some"
_PATIENCE = 2.0  # seconds for another server: a page must not wait for one that hangs
_GONE = "The run or its server has ended, so your answer had no effect."


async def with_questions(visit: Visit, run: str = "") -> dict[str, object]:
    """Return what the part of a page with questions needs: all of the person, or those of one run."""
    found = {(each.run, each.name): each for each in await visit.who.part(Runs).questions(visit.who.caller)}
    found |= {(each.run, each.name): each for each in await _of_other_servers(visit)}
    shown = sorted((each for each in found.values() if run in ("", each.run)), key=lambda each: each.since)
    return {"questions": shown, "word_choice": _word_choice, "some": SOME, "some_words": SOME_WORDS}


def _word_choice(question: OpenQuestion, choice: Choice) -> str:
    if choice is Choice.ONCE and (question.calls or len(question.choices) == 1):
        return ALL_WORDS if question.calls else "Yes"
    return CHOICE_WORDS[choice]


async def answer_question(visit: Visit) -> Response:
    form = await visit.form()
    run, name, answer = visit.request.path_params["run"], form.get("question", ""), form.get("answer", "")
    choice: Choice | Some | None
    if answer == SOME:
        choice = Some(frozenset(int(key) for key in form if key.isdecimal()))
    elif answer and answer not in {*Choice}:
        raise RefusedFormError("This form has an answer that the question does not offer.")
    else:
        choice = Choice(answer) if answer else None
    with LogSpan("dashboard.answer", run=run, principal=visit.who.person.principal) as span:
        said = Said(choice, ANSWERED_IN[PLACE])
        settled = await visit.who.part(Runs).settle(run, name, said, caller=visit.who.caller)
        if settled is None and (home := _own_home(visit)) is not None:
            settle = partial(settle_question, home, run, name, choice, place=PLACE)
            settled = await anyio.to_thread.run_sync(settle)
        span.add(answer=answer or "no", counts=settled is not None and settled.counts)
    if settled is None or not settled.counts:
        return visit.show_failure(409, "Too late", _GONE if settled is None else settled.text)
    return visit.go_to("/?done=refused" if choice is None else "/?done=answered")


async def _of_other_servers(visit: Visit) -> list[OpenQuestion]:
    """Return the questions of a person's other servers on this machine; on a team's server there are none."""
    home = _own_home(visit)
    if home is None:
        return []
    try:
        return await anyio.to_thread.run_sync(partial(find_questions, home, patience=_PATIENCE))
    except (ConfigError, ValueError):  # others can write to the folder, or a server of another version has answered
        return []


def _own_home(visit: Visit) -> Path | None:
    return None if visit.who.person.issuer else visit.who.part(LoadedConfig).home
