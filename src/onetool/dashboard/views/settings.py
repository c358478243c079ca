"""Settings: what one of many people sets for themselves. Of a secret only its name is shown, ever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.config.personal_secrets import PersonalSecrets
from ot.errors import ConfigError, ToolError
from ot.execution.wording import word_error
from ot.logs import LogSpan
from ot.store.sealing import SealError


async def show_settings(visit: Visit) -> Response:
    """Show the names of the person's secrets."""
    return await _show(visit)


async def put_secret(visit: Visit) -> Response:
    """Keep a secret, also in place of an earlier one of this name."""
    form = await visit.form()
    name = form.get("name", "").strip()
    problem = await _change(visit, "put", name, partial(_own(visit).put, name, form.get("value", "")))
    return await _show(visit, problem, name=name) if problem else visit.go_to("/settings?done=kept")


async def remove_secret(visit: Visit) -> Response:
    """Forget a secret."""
    form = await visit.form()
    name = form.get("name", "")
    problem = await _change(visit, "remove", name, partial(_own(visit).remove, name))
    return await _show(visit, problem) if problem else visit.go_to("/settings?done=removed")


async def _show(visit: Visit, problem: str = "", *, name: str = "") -> Response:
    names = await anyio.to_thread.run_sync(_own(visit).names)
    show = visit.show_refused if problem else visit.show
    return show("settings.html.j2", names=names, problem=problem, name=name)


def _own(visit: Visit) -> PersonalSecrets:
    own = visit.who.app.own_secrets
    if own is None:
        raise ToolError("this server is yours alone: its settings are files in ~/.onetool")
    return own


async def _change(visit: Visit, what: str, name: str, change: Callable[[], None]) -> str:
    """Make a change, and return what kept it from being made; nothing if it was."""
    with LogSpan(f"dashboard.secret.{what}", name=name, principal=visit.who.person.principal) as span:
        try:
            await anyio.to_thread.run_sync(change)
        except ValueError as error:
            reason = str(error)
        except (OSError, SealError, ConfigError) as error:
            why = word_error(error) if isinstance(error, ConfigError) else str(error)
            reason = f"it cannot be kept: {why}"
        else:
            return ""
        span.add(refused=reason)
        return reason[:1].upper() + reason[1:] + "."
