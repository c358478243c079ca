"""Settings: a person's own secrets and settings on a team's server. Only the names of secrets are ever shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.config.loader import LoadedConfig
from ot.config.personal_secrets import PersonalSecrets
from ot.config.personal_settings import SAFE_WORDS, PersonalSettings
from ot.errors import ConfigError, ToolError, UnsetVariableError
from ot.execution.wording import word_error
from ot.logs import LogSpan
from ot.parts.person_overlay import PersonOverlay
from ot.store.sealing import SealError

_FOR_ONE = "this is your personal server: its settings are files in ~/.onetool"


async def show_settings(visit: Visit) -> Response:
    """Show the names of the person's secrets, and their settings; on a personal server these are files."""
    if visit.who.app.own.secrets is None:
        return visit.show_no_page()
    return await _show(visit)


async def save_settings(visit: Visit) -> Response:
    """Save the person's settings, unless they have mistakes."""
    form = await visit.form()
    text = form.get("text", "").replace("\r\n", "\n")
    with LogSpan("dashboard.settings", principal=visit.who.person.principal) as span:
        try:
            mistakes = await anyio.to_thread.run_sync(_settings(visit).write, text)
        except OSError as error:
            mistakes = [f"They cannot be saved: {error}."]
        span.add(mistakes=len(mistakes))
    return await _show(visit, text=text, mistakes=mistakes) if mistakes else visit.go_to("/settings?done=saved")


async def put_secret(visit: Visit) -> Response:
    form = await visit.form()
    name = form.get("name", "").strip()
    problem = await _change(visit, "put", name, partial(_own(visit).put, name, form.get("value", "")))
    return await _show(visit, problem, name=name) if problem else visit.go_to("/settings?done=kept")


async def remove_secret(visit: Visit) -> Response:
    form = await visit.form()
    name = form.get("name", "")
    problem = await _change(visit, "remove", name, partial(_own(visit).remove, name))
    return await _show(visit, problem) if problem else visit.go_to("/settings?done=removed")


async def _show(
    visit: Visit, problem: str = "", *, name: str = "", text: str | None = None, mistakes: Sequence[str] = ()
) -> Response:
    unreadable = False
    try:
        names = await anyio.to_thread.run_sync(_own(visit).names)
    except (OSError, SealError):
        names, unreadable = [], True
        problem = problem or "Your secrets cannot be opened at present. None is lost; tell the operator of this server."
    if text is None:
        text = await anyio.to_thread.run_sync(_settings(visit).text)
    loaded = visit.who.part(LoadedConfig)
    # The servers that are off because a secret is missing, each with its secret, as of the last run.
    wrong = [(each.entry[-1], each.error) for each in loaded.mistakes if each.entry[0] == "servers"]
    unset = [(server, error.variable) for server, error in wrong if isinstance(error, UnsetVariableError)]
    wanted = [(server, variable) for server, variable in unset if variable in loaded.asked and not unreadable]
    context: dict[str, object] = {"names": names, "wanted": wanted, "name": name, "text": text, "safe": SAFE_WORDS}
    context |= {"problem": problem, "mistakes": mistakes}
    return visit.render("settings.html.j2", context, status=400 if problem or mistakes else 200)


def _settings(visit: Visit) -> PersonalSettings:
    own = visit.who.part(PersonOverlay).settings
    if own is None:
        raise ToolError(_FOR_ONE)
    return own


def _own(visit: Visit) -> PersonalSecrets:
    own = visit.who.app.own.secrets
    if own is None:
        raise ToolError(_FOR_ONE)
    return own


async def _change(visit: Visit, what: str, name: str, change: Callable[[], None]) -> str:
    """Make a change, and return the reason if it failed, else an empty text."""
    with LogSpan(f"dashboard.secret.{what}", name=name, principal=visit.who.person.principal) as span:
        try:
            await anyio.to_thread.run_sync(change)
        except ValueError as error:
            reason = str(error)
        except (OSError, SealError, ConfigError) as error:
            why = word_error(error) if isinstance(error, ConfigError) else str(error)
            reason = f"it cannot be saved: {why}"
        else:
            return ""
        span.add(refused=reason)
        return reason[:1].upper() + reason[1:] + "."
