"""`onetool skills`: list the skills that runs can call, or show the code of one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mcp_core.nearest_names import nearest
from onetool.cli import FAILED, OK
from onetool.cli.definitions import read_skills
from onetool.cli.printing import add_json_argument, complain, say, say_json, visible
from onetool.cli.skill_tests import save_run, test_skills
from onetool.cli.start import load
from ot.execution.wording import word_error
from ot.skills.skill_file import Skill
from ot.skills.skill_loader import SkillLoader
from ot.trust.untrusted import trust_command

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
        names = ", ".join(nearest(name, known)) or "none"
        complain(f"There is no skill {name!r}. Skills: {names}")
        return FAILED
    if as_json:
        say_json({**_describe(skill), "code": skill.text})
    else:
        say(f"# {loader.shown(skill.file)}\n" + "\n".join(map(visible, skill.text.splitlines())))
    return OK


def _describe(skill: Skill) -> dict[str, object]:
    tool = skill.definition
    return {
        "name": skill.name,
        "signature": tool.signature,
        "description": tool.description,
        "file": str(skill.file),
        "example": tool.docs.example,
    }
