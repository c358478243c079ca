"""The server's side: a socket in the person's state folder that answers this user's commands.

It offers only what a run can do too (`ot.reload`, `ot.health`), a link to the dashboard, and the questions of runs with
a way to answer them: anyone who can connect as this user could read and change the same files, the policy among them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import anyio

from mcp_core.atomic_write import open_folder
from mcp_core.json_types import Json, JsonObject
from mcp_core.private_files import make_private
from onetool.console.caller import make_caller
from onetool.control import ANSWERED_IN, ENDING, LONGEST_REQUEST, QUESTIONS, SETTLE, running_folder
from onetool.http.listening import listen_privately
from ot.app import App
from ot.clients.caller import Said
from ot.config.loader import LoadedConfig
from ot.errors import ConfigError
from ot.execution.invocation import call_error_from
from ot.execution.wording import word_error, word_mistakes
from ot.introspect.reload import RELOADED
from ot.logs import write_log
from ot.proxy import ServerStatus
from ot.run.client_requests import decode_choice
from ot.run.runs import Runs
from ot.workers.extension_workers import WorkerStatus
from ot_system.socket_folders import socket_folder
from ot_system.sockets import user_of_peer

if TYPE_CHECKING:
    from ot.apps import Apps  # one person's server does without

_PATIENCE = 5.0  # seconds in which a request must have come

Answers = dict[str, Callable[[str], Awaitable[Json]]]
"""By its word, what answers a request; it is given what comes behind the word."""


@dataclass(frozen=True, slots=True)
class ControlTarget:
    """The engines that commands can reach; each with the name of its person if there are several."""

    engines: Callable[[], Sequence[tuple[str, App]]]
    reload: Callable[[], Awaitable[str]]  # raises ConfigError
    runs: Runs | None = None  # whose questions this machine's person answers; None where they are other people's


def control_one(app: App) -> ControlTarget:
    return ControlTarget(lambda: [("", app)], app.reload.reload, app.runs)


def control_all(apps: Apps) -> ControlTarget:
    async def reload() -> str:
        await apps.reload()
        return "\n".join([RELOADED, *word_mistakes(apps.config.mistakes)])

    return ControlTarget(lambda: [(person.name or person.subject, app) for person, app in apps.all_open()], reload)


@asynccontextmanager
async def open_control(
    target: ControlTarget,
    loaded: LoadedConfig,
    *,
    over: str,
    make_link: Callable[[], Awaitable[str]] | None = None,
    state: Callable[[], Awaitable[Json]] | None = None,
) -> AsyncIterator[None]:
    """Answer this person's commands while this is open; if the socket cannot be created, the log says why.

    `over` says how the server is reached by its clients; `make_link` makes links to its dashboard, if it has one;
    `state` says how its team is.
    """
    with ExitStack() as stack:
        try:
            make_private(folder := running_folder(loaded.home))
            opened = stack.enter_context(open_folder(folder))
            near = stack.enter_context(socket_folder(opened, folder))
            name = f"{os.getpid()}-{os.urandom(3).hex()}{ENDING}"  # machines with the same process ids may share a home
            listener = stack.enter_context(listen_privately(near / name))
            listener.setblocking(False)
        except (OSError, ValueError) as error:
            write_log(logging.WARNING, "control.listen", error=str(error))
            yield
            return
        facts: JsonObject = {"pid": os.getpid(), "project": str(loaded.project), "over": over, "since": time.time()}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_accept, listener, facts, _answers_of(target, loaded, make_link, state))
            yield
            tasks.cancel_scope.cancel()


def _answers_of(
    target: ControlTarget,
    loaded: LoadedConfig,
    make_link: Callable[[], Awaitable[str]] | None,
    state: Callable[[], Awaitable[Json]] | None,
) -> Answers:
    async def reload(_: str) -> Json:
        try:
            text, reloaded = await target.reload(), True
        except ConfigError as error:
            text, reloaded = f"The configuration was not reloaded: {word_error(error)}", False
        return {"reloaded": reloaded, "text": loaded.redactor.text(text)}

    async def servers(_: str) -> Json:
        return _of_each(target, lambda app: app.servers.status(changing=app.config.offer.look))

    async def workers(_: str) -> Json:
        return _of_each(target, lambda app: app.workers.status())

    async def dashboard(_: str) -> Json:
        return None if make_link is None else await make_link()

    async def top(_: str) -> Json:
        return None if state is None else await state()

    async def questions(_: str) -> Json:
        return [] if target.runs is None else [each.encoded() for each in await target.runs.questions(make_caller())]

    async def settle(answer: str) -> Json:
        match json.loads(answer):
            case {"run": str(run), "name": str(name), "choice": choice, "in": str(place)} if target.runs is not None:
                said = Said(decode_choice(choice), ANSWERED_IN[place])
                settled = await target.runs.settle(run, name, said, caller=make_caller())
                return None if settled is None else [settled.counts, settled.text]
        return None

    known = {"reload": reload, "servers": servers, "workers": workers, "dashboard": dashboard, "top": top}
    return {**known, QUESTIONS: questions, SETTLE: settle}


def _of_each(target: ControlTarget, look: Callable[[App], Sequence[ServerStatus] | Sequence[WorkerStatus]]) -> Json:
    """Return the statuses of every engine without secrets, and with the name of its person."""
    found = []
    for name, app in target.engines():
        whose = {"person": name} if name else {}
        found += [app.executor.redactor.value({**whose, **asdict(status)}) for status in look(app)]
    return found


async def _accept(listener: socket.socket, facts: JsonObject, answers: Answers) -> None:
    loop = asyncio.get_running_loop()
    async with anyio.create_task_group() as tasks:
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:  # too many open files, perhaps
                await anyio.sleep(1)
            else:
                tasks.start_soon(_answer, connection, facts, answers)


async def _answer(connection: socket.socket, facts: JsonObject, answers: Answers) -> None:
    """Answer one connection: it sends a word and perhaps more, and gets a line."""
    loop = asyncio.get_running_loop()
    with connection, suppress(OSError, TimeoutError):  # the client has gone, or sends nothing
        connection.setblocking(False)
        if user_of_peer(connection) not in (None, 0, os.geteuid()):
            return
        with anyio.fail_after(_PATIENCE):
            request = (await loop.sock_recv(connection, LONGEST_REQUEST)).decode(errors="replace").strip()
        asked, _, more = request.partition(" ")
        try:
            known = (
                {"answer": await answers[asked](more)} if asked in answers else {"error": f"does not know {asked!r}"}
            )
        except Exception as error:  # noqa: BLE001 - a failed command must not end the server
            known = {"error": word_error(call_error_from(error, f"onetool {asked}"))}
        line = json.dumps({**facts, **known}).encode()
        with anyio.fail_after(_PATIENCE):
            await loop.sock_sendall(connection, line)
