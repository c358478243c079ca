"""`onetool call`: one tool with arguments from the command line; and one run. Importing this loads the engine."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import suppress

import anyio

from mcp_core.json_types import JsonObject, mapping_of
from onetool.cli import OK
from onetool.cli.definitions import name_in_code
from onetool.cli.printing import fail, print_answer, progress_for_person
from onetool.cli.start import load
from onetool.console.caller import ask_at_terminal, make_caller
from ot.app import open_app
from ot.clients.caller import Notes
from ot.config.loader import LoadedConfig
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.kernel.zygote_process import ZygoteProcess
from ot.run.answer import Answer
from ot.text.output import render


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool", metavar="PACK.TOOL", help="the tool's full name, such as ot.help")
    note = "an argument; its value is read as JSON unless the parameter is text"
    parser.add_argument("arguments", nargs="*", type=_split, metavar="KEY=VALUE", help=note)


def main(options: Namespace) -> int:
    notes = Notes()
    answer = anyio.run(_call, load(options, tolerant=True), options.tool, options.arguments, notes)
    if answer.is_error:
        return fail(answer.text)
    print_answer(answer, notes)
    return OK


async def _call(loaded: LoadedConfig, name: str, texts: list[tuple[str, str]], notes: Notes) -> Answer:
    async with open_app(loaded, connect_ahead=False) as app:
        try:
            await app.servers.catch_up(name)
            name = name_in_code(name, loaded, app.registry)
            definition = app.registry.get(name)
            known = mapping_of(definition.parameters.get("properties"))
            arguments: JsonObject = dict(texts)
            for key, text in texts:  # the value of a text parameter stays text, any other is read as JSON if it is JSON
                if mapping_of(known.get(definition.own_name(key))).get("type") != "string":
                    with suppress(ValueError):
                        arguments[key] = json.loads(text)
            caller = make_caller(ask=ask_at_terminal(), notes=notes, progress=progress_for_person())
            rendered = render(await app.executor.call(name, arguments, caller=caller))
        except CallError as error:
            return Answer(word_error(error), is_error=True)
        return Answer(rendered.text, attachments=tuple(rendered.attachments))


def _split(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ArgumentTypeError(f"{text!r} does not have the form key=value")
    return key, value


async def run_once(
    command: str, loaded: LoadedConfig, launched: ZygoteProcess, *, preview: bool = False
) -> tuple[Answer, Notes]:
    notes = Notes(apart=True)
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        caller = make_caller(ask=ask_at_terminal(), progress=progress_for_person(), notes=notes)
        answer = await app.runner.run(command, caller=caller, preview=preview)
        app.supply.retire()  # the kernels' process ends while the rest is closed
        return answer, notes
