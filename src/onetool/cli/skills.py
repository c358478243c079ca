"""`onetool skills` and `onetool replay`: skills listed, shown and made of runs; runs and examples replayed."""

from __future__ import annotations

import ast
import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import anyio
import anyio.to_thread

from mcp_core.nearest_names import nearest
from mcp_core.visible_text import visible, visible_line
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.connect import tell_written
from onetool.cli.definitions import read_registry, read_skills
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.app import App, launch, open_app
from ot.clients.caller import NOBODY
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, SKILLS
from ot.config.project_trust import project_trust
from ot.errors import CallError, NewSkillError
from ot.execution.wording import word_error
from ot.journal.equality import Sources
from ot.journal.journal import RESUME, Journal, open_journal, word_call
from ot.journal.recorded import RecordedCall, RecordedRun
from ot.kernel.zygote_process import ZygoteProcess
from ot.parts.stores import open_own_store
from ot.registry.registry import ToolRegistry
from ot.run.fence_processor import read_command
from ot.run.live_run import new_run_id
from ot.run.replaying import Replayed, play
from ot.skills.new_skill import Draft, NewSkill, write_text
from ot.skills.recording import Recording, find_changed, read_recording, recording_of, write_recording
from ot.skills.skill_file import Skill
from ot.skills.skill_loader import SkillLoader
from ot.trust.project_trust import trust_command

EPILOG_REPLAY = "No call is made. Exit status: 0 if nothing differs, else 1."


def add_arguments_replay(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="ID", help="the id of the run; onetool runs lists them")


def main_replay(options: Namespace) -> int:
    loaded = without_statistics(load(options, tolerant=True))
    return anyio.run(_replay, loaded, options.run, launch(loaded))


def without_statistics(loaded: LoadedConfig) -> LoadedConfig:
    """Return a configuration that does not count replayed calls in the statistics."""
    stats = loaded.config.stats.model_copy(update={"enabled": False})
    return replace(loaded, config=loaded.config.model_copy(update={"stats": stats}))


async def _replay(loaded: LoadedConfig, run: str, launched: ZygoteProcess) -> int:
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        journal = app.executor.journal
        assert journal is not None
        try:
            recorded = await anyio.to_thread.run_sync(journal.find, LOCAL, run)
        except CallError as error:
            return fail(f"onetool: {word_error(error)}")
        replayed = await play(app.runner, journal, recorded)
    lines = list(word_differences(replayed))
    say_visibly(*lines)
    if not lines:
        say(f"Run {recorded.id} is the same as before: {count_of(len(recorded.calls), 'call')}, and the answer.")
    return FAILED if lines else OK


def word_differences(replayed: Replayed) -> Iterator[str]:
    found = replayed.differences
    yield from (f"new call: {call}" for call in found.unrecorded)
    yield from (f"missing call: {word_call(call)}" for call in found.unmade)
    yield from (f"changed tool: {tool}" for tool in dict.fromkeys(found.changed))
    if replayed.now != replayed.before:
        yield "the answer differs:"
        before, now = replayed.before.splitlines(), replayed.now.splitlines()
        yield from difflib.unified_diff(before, now, "then", "now", lineterm="")


def save_run(loaded: LoadedConfig, run: str, name: str, description: str) -> int:
    """Write the code of a run as a skill of the project, with its calls; it is trusted, since a person asked for it."""
    trust = project_trust(loaded.project, loaded.home)
    if trust is not None:
        trust.refuse_untrusted()
    folder = loaded.project / FOLDER / SKILLS
    with open_own_store(loaded) as store:
        journal = open_journal(loaded, store)
        recorded = journal.find(LOCAL, run)
        new = NewSkill(name, _code_of(recorded, name), description or f"Do what run {run} did.")
        file = Draft(folder, name, write_text(new, folder)).write()
        recording = _recording(f"skills.{name}()", recorded.answer, recorded.calls, read_registry(loaded))
        written = [file, write_recording(file, recording, journal.store.fetch)]
    if trust is not None:
        trust.accept(written)
    for each in written:
        tell_written(each)
    say(f"try it: onetool run 'skills.{name}()'")
    return OK


def _code_of(run: RecordedRun, name: str) -> str:
    """Return the code of a successful run, without the line that resumed another run; raises NewSkillError."""
    if run.outcome not in ("value", "nothing") or not run.whole:
        how = "is incomplete: some of its calls were not recorded" if not run.whole else "did not succeed"
        raise NewSkillError(name, f"run {run.id} {how}")
    code = read_command(run.command)
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NewSkillError(name, f"the command of run {run.id} is not valid Python by itself") from error
    lines = code.splitlines()
    for statement in statements[:1]:
        if ast.unparse(statement).startswith(f"{RESUME}("):
            del lines[statement.lineno - 1 : statement.end_lineno]
    return "\n".join(lines)


def _recording(example: str, answer: str, calls: Sequence[RecordedCall], registry: ToolRegistry) -> Recording:
    sources = Sources()
    known = (tool for tool in sorted({call.tool for call in calls}) if registry.has(tool))
    return Recording(example, answer, tuple(calls), {tool: sources.of(registry.get(tool)).digest for tool in known})


def test_skills(loaded: LoadedConfig, names: Sequence[str], *, record: bool) -> int:
    """Replay the examples of skills from their recorded calls, or run the examples and record their calls."""
    known = {skill.name: skill for skill in read_skills(loaded).skills()}
    unknown = [name for name in names if name not in known]
    for name in unknown:
        complain(f"onetool: there is no skill {name!r}. Skills: {', '.join(nearest(name, known)) or 'none'}")
    if unknown:
        return USAGE
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    if not chosen:
        complain("There are no skills; scaffold.skill(...) in a run writes one.")
        return OK
    quiet = loaded if record else without_statistics(loaded)
    return anyio.run(partial(_test, quiet, launch(quiet), chosen, record=record))


class _Tested(NamedTuple):
    ok: bool
    headline: str
    details: Sequence[str] = ()


async def _test(loaded: LoadedConfig, launched: ZygoteProcess, skills: Sequence[Skill], *, record: bool) -> int:
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        journal = app.executor.journal
        assert journal is not None
        tested = {skill.name: await _test_one(app, journal, skill, record=record) for skill in skills}
    for name, result in tested.items():
        say(f"{name}: {result.headline}")
        say_visibly(*(f"    {line}" for line in result.details))
    written = [recording_of(skill.file) for skill in skills] if record else []
    trust = project_trust(loaded.project, loaded.home)
    if trust is not None:
        trust.accept([file for file in written if file.exists() and file.is_relative_to(loaded.project)])
    return OK if all(result.ok for result in tested.values()) else FAILED


async def _test_one(app: App, journal: Journal, skill: Skill, *, record: bool) -> _Tested:
    example = skill.definition.docs.example
    if not example:
        return _Tested(ok=True, headline="has no example")
    if record:
        return await _record(app, journal, skill, example)
    try:
        recording = read_recording(skill.file)
    except ValueError as error:
        return _Tested(ok=False, headline=f"{recording_of(skill.file).name}: {error}")
    if recording is None:
        return _Tested(ok=False, headline=f"nothing is recorded; run onetool skills test --record {skill.name}")
    run = RecordedRun(
        "", LOCAL, "", 0.0, example, "", whole=True, calls=recording.calls, outcome="value", answer=recording.answer
    )
    differences = list(word_differences(await play(app.runner, journal, run, own=False)))
    if example != recording.example:
        differences.insert(0, f"its example has changed since its calls were recorded: {recording.example}")

    def definition_of(tool: str) -> str | None:
        return journal.sources.of(app.registry.get(tool)).digest if app.registry.has(tool) else None

    headline = f"{count_of(len(recording.calls), 'call')}, {'not ' if differences else ''}as recorded"
    return _Tested(not differences, headline, [*find_changed(recording, definition_of), *differences])


async def _record(app: App, journal: Journal, skill: Skill, example: str) -> _Tested:
    run_id = new_run_id()
    answer = await app.runner.run(example, caller=replace(NOBODY, run_id=run_id))
    if answer.is_error:
        return _Tested(ok=False, headline="its example fails", details=answer.text.splitlines())
    try:
        run = journal.find(LOCAL, run_id)
        write_recording(skill.file, _recording(example, run.answer, run.calls, app.registry), journal.store.fetch)
    except (CallError, NewSkillError) as error:
        return _Tested(ok=False, headline="its calls cannot be recorded", details=[word_error(error)])
    return _Tested(ok=True, headline=f"recorded {count_of(len(run.calls), 'call')}")


EPILOG = (
    "A skill is a function in .onetool/skills of the project or of your home; code in a run calls it as skills.NAME()."
)


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="list the skills (default)")
    show = actions.add_parser("show", help="show the code of a skill")
    show.add_argument("name", metavar="NAME")
    save = actions.add_parser("save", help="make a skill of a successful run, with its calls for `skills test`")
    save.add_argument("run", metavar="RUN", help="the id of the run; onetool runs lists them")
    save.add_argument("name", metavar="NAME")
    save.add_argument("--description", default="", help="what it does, in one line")
    test = actions.add_parser("test", help="replay the examples of skills from their recorded calls")
    test.add_argument("names", nargs="*", metavar="NAME", help="the skills (default: all)")
    test.add_argument("--record", action="store_true", help="make the calls for real, and record them")
    for each in (parser, listing, show):
        add_json_argument(each)


def main(options: Namespace) -> int:
    if options.action == "save":
        return save_run(load(options), options.run, options.name, options.description)
    if options.action == "test":
        return test_skills(load(options), options.names, record=options.record)
    loader = read_skills(load(options))
    if options.action == "show":
        return _show(loader, options.name, as_json=options.json)
    if options.json:
        say_json([_describe(skill) for skill in loader.skills()])
        return OK
    for skill in loader.skills():
        say(f"{skill.definition.signature}\n    {visible(skill.definition.description)}  [{loader.shown(skill.file)}]")
    for file in loader.waiting():
        complain(f"{loader.shown(file)} is not trusted; see {trust_command(file.parents[2])}")
    for problem in loader.problems:
        complain(f"broken: {problem.file.parent}/{word_error(problem)}")
    if not loader.skills():
        complain("There are no skills; scaffold.skill(...) in a run writes one.")
    return OK


def _show(loader: SkillLoader, name: str, *, as_json: bool) -> int:
    known = {skill.name: skill for skill in loader.skills()}
    skill = known.get(name.removeprefix("skills."))
    if skill is None:
        return fail(f"There is no skill {name!r}. Skills: {', '.join(nearest(name, known)) or 'none'}")
    if as_json:
        say_json({**_describe(skill), "code": skill.text})
    else:
        say(f"# {loader.shown(skill.file)}\n" + "\n".join(map(visible_line, skill.text.removesuffix("\n").split("\n"))))
    return OK


def _describe(skill: Skill) -> dict[str, object]:
    tool = skill.definition
    shown = {"name": skill.name, "signature": tool.signature, "description": tool.description}
    return {**shown, "file": str(skill.file), "example": tool.docs.example}
