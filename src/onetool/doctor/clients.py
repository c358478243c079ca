"""Other clients: whether OneTool is in their configuration and can be started; and the servers running now."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from onetool.control.asking import ask_running
from onetool.doctor.finding import Finding, edit, green, red, yellow
from onetool.foreign.clients import CLIENTS, System
from onetool.foreign.connecting import ClientState, survey_connections
from ot.errors import ConfigError
from ot.execution.wording import word_error


def look_at_clients(system: System) -> Iterator[Finding]:
    """Check each client that seems to be installed."""
    states = [state for state in survey_connections(system) if state.installed or state.command]
    for state in states:
        yield _look_at(state)
    if not any(state.command for state in states):
        yield yellow("clients", "OneTool is not connected to any client yet", "onetool connect")


def _look_at(state: ClientState) -> Finding:
    name, file = CLIENTS[state.client], state.file
    if state.problem:
        return red("clients", f"{name}: {file} {state.problem}", edit(file))
    if not state.command:
        return yellow("clients", f"{name} is not connected to OneTool ({file})", f"onetool connect {state.client}")
    program = shlex.split(state.command)[0]
    if shutil.which(program) is None:
        text = f"{name} starts {program}, which does not exist ({file})"
        return red("clients", text, f"onetool connect {state.client}")
    return green("clients", f"{name} starts OneTool: {state.command}")


def look_at_running(home: Path) -> Iterator[Finding]:
    """List the servers that are running now."""
    try:
        running = ask_running(home, "servers")
    except ConfigError as error:
        yield red("running", word_error(error), f"rm -r {shlex.quote(str(error.file))}")
        return
    for reply in running:
        if reply.error:
            yield red("running", f"{reply}: {reply.error}", f"kill {reply.pid}")
        else:
            yield green("running", str(reply))
