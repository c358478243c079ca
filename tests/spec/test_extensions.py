"""Which tools are internal and which are extensions, where they are found, and where they run: as specified."""

from __future__ import annotations

import ast
import os
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from ot.registry.definitions import Cancellation
from ot.registry.from_source import read_pack
from ot.workers.pep723 import read_header
from tests.engine import answer_of as run
from tests.engine import open_engine, write_extension
from tests.opened_executor import BUILT_IN

pytestmark = pytest.mark.anyio

INTERNAL = [file for file in sorted(BUILT_IN.glob("*.py")) if not file.name.startswith("_")]
FIRST_PARTY = {"ot", "ot_guardian", "ot_kernel", "ot_packs", "ot_system", "ot_tools", "mcp_core"}

WHERE = '''
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Where this runs."""

import os
import sys


def process() -> int:
    """The process that answers."""
    return os.getpid()


def environment() -> str:
    """The environment that it has."""
    return sys.prefix
'''

BARE = '''
"""No header."""


def process() -> int:
    """The process that answers."""
    import os

    return os.getpid()


def unmet() -> str:
    """Needs what nobody declared."""
    import no_such_package

    return no_such_package.__name__
'''

INSIDE = '''
"""An internal tool that looks around."""

from ot.context import current

pack = "inside"


async def around() -> dict:
    """What it can see."""
    context = current()
    return {
        "packs": [pack.name for pack in context.registry.packs()],
        "limit": context.settings.results.inline_limit,
        "own": dict(context.config),
        "other": await context.call("demo.upper", text="called"),
    }
'''


@pytest.mark.scenario("workers/internal-tool-in-process-execution/internal-tool-detection")
@pytest.mark.scenario("workers/tool-type-detection/internal-tool-identification")
async def test_what_ships_with_onetool_has_no_header_and_runs_inside_it(tmp_path: Path) -> None:
    async with open_engine(tmp_path, packs={"inside": INSIDE}) as app:
        answer = await run(app, "[demo.upper(text='a'), len(ot.packs()), ot.health()['workers']]")

    assert [read_header(file) for file in INTERNAL] == [(None, None)] * len(INTERNAL)
    assert yaml.safe_load(answer) == ["A", len(app.registry.packs()), []]
    assert {tool.cancellation for tool in app.registry.definitions()} <= set(Cancellation) - {Cancellation.WORKER}


@pytest.mark.scenario("workers/internal-tool-in-process-execution/internal-tool-has-onetool-access")
async def test_an_internal_tool_reaches_registry_configuration_and_other_tools(tmp_path: Path) -> None:
    config = "packs: {inside: {colour: blue}}\nresults: {inline_limit: 4321}"
    async with open_engine(tmp_path, config=config, packs={"inside": INSIDE}) as app:
        seen = yaml.safe_load(await run(app, "inside.around()"))

    assert {"demo", "inside", "ot"} <= set(seen["packs"])
    assert (seen["limit"], seen["own"], seen["other"]) == (4321, {"colour": "blue"}, "CALLED")


@pytest.mark.scenario("workers/internal-tool-in-process-execution/internal-tool-has-onetool-access")
@pytest.mark.parametrize("file", INTERNAL, ids=lambda file: file.stem)
def test_an_internal_tool_imports_the_engine_and_not_the_kit_for_extensions(file: Path) -> None:
    imported = _imported(file)

    assert "ot" in imported
    assert "ot_sdk" not in imported


distributions_of_modules = cache(packages_distributions)  # it reads a file of each distribution


@pytest.mark.scenario("workers/internal-tool-in-process-execution/internal-tool-dependencies")
@pytest.mark.parametrize("file", INTERNAL, ids=lambda file: file.stem)
def test_what_an_internal_tool_needs_comes_with_onetool(file: Path) -> None:
    project = tomllib.loads((BUILT_IN.parents[1] / "pyproject.toml").read_text())["project"]
    extras = [item for extra in project.get("optional-dependencies", {}).values() for item in extra]
    declared = {_name_of(requirement) for requirement in [*project["dependencies"], *extras]}
    foreign = _imported(file) - FIRST_PARTY - set(sys.stdlib_module_names)

    for module in foreign:
        assert {name.lower() for name in distributions_of_modules()[module]} & declared, module
    assert read_header(file)[0] is None


@pytest.mark.scenario("workers/extension-tool-location/project-extension-discovery")
async def test_an_extension_of_the_project_is_a_pack_in_a_worker(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    async with open_engine(project, extensions={"where": WHERE}, home=home) as app:
        process = await run(app, "where.process()")

    assert app.registry.get("where.process").file == project / ".onetool" / "tools" / "where" / "where_tools.py"
    assert int(process) != os.getpid()


@pytest.mark.scenario("workers/extension-tool-location/global-extension-discovery")
async def test_extensions_of_the_person_are_found_too_and_those_of_the_project_come_first(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    write_extension(home, "only_here", "def place(): return 'home'\n")
    write_extension(home, "both", "def place(): return 'home'\n")
    async with open_engine(project, extensions={"both": "def place(): return 'project'\n"}, home=home) as app:
        places = await run(app, "[only_here.place(), both.place()]")

    assert places == "[home, project]"


@pytest.mark.scenario("workers/tool-type-detection/extension-tool-identification")
async def test_an_extension_with_a_header_has_a_process_and_an_environment_of_its_own(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"where": WHERE}) as app:
        process, environment = yaml.safe_load(await run(app, "[where.process(), where.environment()]"))
        again = int(await run(app, "where.process()"))

    header, _ = read_header(tmp_path / ".onetool" / "tools" / "where" / "where_tools.py")
    assert header is not None
    assert app.registry.get("where.process").cancellation is Cancellation.WORKER
    assert process == again != os.getpid()
    assert environment != sys.prefix


@pytest.mark.scenario("workers/tool-type-detection/invalid-extension-without-pep-723")
async def test_an_extension_without_a_header_works_as_far_as_its_imports_do(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"bare": BARE}) as app:
        process = await run(app, "bare.process()")
        answer = await app.runner.run("bare.unmet()")

    assert read_pack(tmp_path / ".onetool" / "tools" / "bare" / "bare_tools.py").tools
    assert int(process) != os.getpid()
    assert answer.is_error
    assert "no_such_package" in answer.text
    assert app.problems == []


def _imported(file: Path) -> set[str]:
    """The packages that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - {"__future__"}


def _name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
