"""The rehearsal: what other rules would have done to the calls of the journal, as `onetool policy try` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from onetool.rehearsing import TriedRules, read_flow, read_since, rehearse_journal, rules_of, word_verdict
from ot.config.documents import parse_document
from ot.config.loader import LoadedConfig
from ot.config.reading import SettingsError
from ot.errors import ConfigError
from ot.execution.rehearsal import ASKED, DENIED, LIMITED, Rehearsed
from ot.execution.wording import word_error
from ot.journal.journal import Journal

_PERIODS = (
    ("", "As far as the journal reaches"),
    ("1h", "1 hour"),
    ("12h", "12 hours"),
    ("1d", "1 day"),
    ("7d", "7 days"),
)
_FIELDS = ("ask", "deny", "flows", "instead", "since")
_MOST_ROWS = 200


async def show_rehearsal(visit: Visit) -> Response:
    """Show a form for the rules to try."""
    return _show(visit, dict.fromkeys(_FIELDS, ""))


async def try_rules(visit: Visit) -> Response:
    """Try the rules of a form, and show what they would have done."""
    form = await visit.form()
    given = {name: form.get(name, "").replace("\r\n", "\n") for name in _FIELDS}
    loaded, journal = visit.who.part(LoadedConfig), visit.who.part(Journal)
    try:
        after, since = (
            _read(given).join(loaded, visit.who.person.groups),
            read_since(given["since"]) if given["since"] else 0.0,
        )
    except ConfigError as error:
        return _show(visit, given, problem=word_error(error))
    except (SettingsError, ValueError) as error:
        return _show(visit, given, problem=f"{str(error)[:1].upper()}{str(error)[1:]}.")
    rules = rules_of(loaded), after
    rehearsing = partial(rehearse_journal, journal, visit.who.person.principal, visit.who.app.registry, *rules, since)
    return _show(visit, given, found=await anyio.to_thread.run_sync(rehearsing))


def _read(given: Mapping[str, str]) -> TriedRules:
    """Read the rules of a form, one a line; raises ConfigError, SettingsError and ValueError."""
    ask, deny, flows = ([line.strip() for line in given[key].split("\n") if line.strip()] for key in _FIELDS[:3])
    instead = parse_document(given["instead"].encode(), Path("rules")) if given["instead"].strip() else None
    return TriedRules(ask, deny, [read_flow(line) for line in flows], instead=instead)


def _show(visit: Visit, given: Mapping[str, str], *, problem: str = "", found: Rehearsed | None = None) -> Response:
    changes = [] if found is None else found.changes.most_common()
    context: dict[str, object] = {
        "given": given,
        "problem": problem,
        "found": found,
        "periods": _PERIODS,
        "actions": (DENIED, ASKED, LIMITED),
        "rows": changes[:_MOST_ROWS],
        "total": len(changes),
        "word": word_verdict,
    }
    return visit.render("rehearsal.html.j2", context, status=400 if problem else 200)
