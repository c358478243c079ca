"""One run with an engine of its own. Importing this loads the engine."""

from __future__ import annotations

from onetool.cli.printing import progress_for_person
from onetool.console.caller import ask_at_terminal, make_caller
from ot.app import open_app
from ot.clients.caller import Notes
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess
from ot.run.answer import Answer


async def run_once(command: str, loaded: LoadedConfig, launched: ZygoteProcess) -> tuple[Answer, Notes]:
    notes = Notes(apart=True)
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        caller = make_caller(ask=ask_at_terminal(), progress=progress_for_person(), notes=notes)
        answer = await app.runner.run(command, caller=caller)
        app.supply.retire()  # the kernels' process ends while the rest is closed
        return answer, notes
