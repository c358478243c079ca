"""Skills in runs: executed in the kernel that calls them, by the same policy, with errors that name their file."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
import yaml

from ot.app import App
from ot.clients.caller import Caller, ClientMemory
from ot.errors import ToolError
from tests.demo_pack import give_demo
from tests.engine import answer_of, open_engine, write_skill
from tests.engines import on_wasm
from tests.trusting import trust_project

pytestmark = pytest.mark.anyio

CONFIG = """
policy:
  deny: [demo.block, skills.forbidden]
  flows: [{from: [demo.upper], to: [demo.echo], action: deny}]
aliases: {loud: demo.upper}
"""

SKILLS = {
    "shout": '''
        import json


        def shout(*, text: str, times: int = 2, mark: str = "!") -> str:
            """Shout a text several times.

            Args:
                text: What to shout.

            Example:
                skills.shout(text="hello")
            """
            shouted = [demo.upper(text=text) for _ in range(times)]
            assert __name__ == "__main__" and json.loads("1") == 1

            def joined() -> str:
                return " ".join(shouted)  # a name of the skill, as in a module

            joined() + mark
    ''',
    "early": 'def early(*, n: int):\n    """Return early."""\n    if n:\n        return n\n    "late"\n',
    "nothing": 'def nothing():\n    """Do nothing."""\n    x = 1\n',
    "empty": 'def empty():\n    """Have no code."""\n',
    "waits": 'async def waits():\n    """Await a tool."""\n    await loud(text="x")\n',
    "loops": '''
        import asyncio


        async def loops(*, n: int):
            """Want an event loop of its own."""
            await asyncio.sleep(0)
            return await asyncio.gather(demo.upper(text="a"), asyncio.sleep(0, n))
    ''',
    "fails": '''
        def fails(*, n: int):
            """Fail at its fifth line."""
            def divide():
                return 1 // n
            divide()
    ''',
    "outer": 'def outer(*, n: int):\n    """Call another."""\n    skills.fails(n=n)\n',
    "cycle": 'def cycle():\n    """Never end."""\n    skills.cycle()\n',
    "stale": 'def stale():\n    """Call what is gone."""\n    demo.echo(value=1)\n    demo.uper(text="x")\n    gone.tool()\n',
    "shadow": 'def shadow(*, demo: dict[str, int]):\n    """Have a parameter with the name of a pack."""\n    demo.get("a")\n',
    "blocked": 'def blocked():\n    """Call what is denied."""\n    demo.block(seconds=0)\n',
    "forbidden": 'def forbidden():\n    """Be denied."""\n    1\n',
    "leak": 'def leak():\n    """Let guarded text flow."""\n    demo.echo(value=demo.upper(text="x"))\n',
    "broken": 'def broken():\n    """B."""\n    1\nopen("x")\n',
    "hopeless": 'def hopeless():\n    """H."""\n    yield 1\n',
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    """An engine whose person has all of these skills."""
    folder = tmp_path_factory.mktemp("skills") / "home"
    for name, text in SKILLS.items():
        write_skill(folder, name, text)
    (folder / ".onetool").rename(folder.with_name("skills"))
    async with open_engine(folder, config=CONFIG) as opened:
        (folder.with_name("skills") / "skills").rename(folder / ".onetool" / "skills")
        await answer_of(opened, "ot.reload()")
        yield opened


RUNS = {
    "by name": ("skills.shout(text='hey')", "HEY HEY!"),
    "by position": ("skills.shout('hey', 1)", "HEY!"),
    "its own defaults": ("skills.shout(text='hey', times=1, mark='')", "HEY"),
    "unpacked": ("skills.shout(**{'text': 'x', 'times': 0})", "!"),
    "an early return": ("skills.early(n=3)", "3"),
    "a last expression": ("skills.early(n=0)", "late"),
    "no value": ("skills.nothing() is None, skills.empty() is None", "[true, true]"),
    "an alias and await": ("skills.waits()", "X"),
    "a loop": ("skills.loops(n=4)", "[A, 4]"),
    "a loop inside a loop": ("import asyncio\nawait asyncio.sleep(0)\nskills.loops(n=4)", "[A, 4]"),
    "several at once": ("ot.parallel(lambda: skills.early(n=1), lambda: skills.loops(n=2))", "[1, [A, 2]]"),
    "imported": ("from skills import early\nearly(n=5)", "5"),
    "a parameter named as a pack": ("skills.shadow(demo={'a': 7})", "7"),
    "its names are its own": ("skills.nothing()\n'x' in globals()", "False"),
    "a name of the run": ("mark = 'run'\nskills.nothing()\nmark", "run"),
}


@pytest.mark.parametrize("name", RUNS)
async def test_a_skill_is_executed_where_it_is_called(app: App, name: str) -> None:
    code, value = RUNS[name]

    assert await answer_of(app, code) == value


MISTAKES = {
    "all arguments are checked before": (
        "skills.shout(**{'text': 5, 'times': 'x', 'q': 1})",
        ["q is not a parameter; text must be str, not int; times must be int, not str. Expected: skills.shout(*, text"],
    ),
    "literal calls are checked before the run": (
        "demo.echo(value=1)\nskills.shout(txt='x')",
        ["Nothing was executed.\nline 2: skills.shout: text is missing; txt is not a parameter."],
    ),
    "an error names the file": (
        "x = 1\nskills.fails(n=0)",
        [
            "ZeroDivisionError: division by zero"
            if on_wasm() or sys.version_info >= (3, 14)
            else "ZeroDivisionError: integer",
            "  line 2: skills.fails(n=0)\n  ~/.onetool/skills/fails.py, line 5: divide()\n",
            "  ~/.onetool/skills/fails.py, line 4, in divide: return 1 // n",
        ],
    ),
    "also through another": (
        "skills.outer(n=0)",
        ["  ~/.onetool/skills/outer.py, line 3: skills.fails(n=n)\n  ~/.onetool/skills/fails.py, line 5"],
    ),
    "a cycle has an end": (
        "skills.cycle()",
        [
            "RecursionError: skills call skills more than 16 deep",
            "  line 1: skills.cycle()",
            "line 3: skills.cycle()  (16 times)",
        ],
    ),
    "what its code calls is checked before any of it": (
        "print(demo.echo(value=0))\nskills.stale()",
        [
            "0\nRuntimeError: skills.stale: none of it was executed.",
            "~/.onetool/skills/stale.py, line 4: The pack demo has no tool 'uper'",
            "~/.onetool/skills/stale.py, line 5: There is no pack 'gone'",
        ],
    ),
    "policy sees the calls inside": ("skills.blocked()", ["demo.block is not allowed here", "blocked.py, line 3"]),
    "policy sees the skill": ("skills.forbidden()", ["skills.forbidden is not allowed here"]),
    "flows are closed inside": ("skills.leak()", ["demo.echo was not called: demo.upper was called before"]),
    "a broken file has its line": (
        "skills.broken()",
        ["Nothing was executed.\nline 1: skills.broken is broken: ~/.onetool/skills/broken.py, line 4: only imports"],
    ),
    "also where nobody saw it coming": ("getattr(skills, 'broken')()", ["skills.broken is broken"]),
    "a generator is none": ("skills.hopeless()", ["SyntaxError: 'yield' outside function", "hopeless.py, line 3"]),
    "a name with a typing mistake": (
        "skills.shuot(text='x')",
        ["The pack skills has no tool 'shuot'. Tools of skills: shout"],
    ),
    "a value that cannot cross": ("skills.early(n=len)", ["argument n of skills.early(): a value of type builtin"]),
}


@pytest.mark.parametrize("name", MISTAKES)
async def test_mistakes_are_told_where_they_are(app: App, name: str) -> None:
    code, clues = MISTAKES[name]

    told = await app.runner.run(code, caller=Caller(memory=ClientMemory()))

    assert told.is_error
    for clue in clues:
        assert clue in told.text


async def test_skills_are_found_beside_tools(app: App) -> None:
    [listed] = yaml.safe_load(await answer_of(app, "ot.tools(pattern='skills.shout', info='full')"))

    assert listed["signature"] == "skills.shout(*, text: str, times: int = 2, mark: str = '!') -> str"
    assert listed["source"] == "skill"
    assert "- skills.shout: Shout a text several times." in await answer_of(app, "ot.help(query='shout a text')")
    assert "skills" in await answer_of(app, "ot.packs(info='list')")
    helped = await answer_of(app, "help(skills.shout)")
    assert "Shout a text several times." in helped
    assert "text: What to shout." in helped
    assert await answer_of(app, "'shout' in dir(skills), 'broken' in dir(skills)") == "[true, false]"
    problems = yaml.safe_load(await answer_of(app, "ot.health()['problems']"))
    assert [(Path(each["file"]).name, each["line"]) for each in problems] == [("broken.py", 4)]


async def test_calls_of_a_skill_count_as_the_runs(app: App) -> None:
    await answer_of(app, "skills.shout(text='counted', times=3)")
    with anyio.fail_after(60):
        while True:
            counted = yaml.safe_load(await answer_of(app, "{t['tool']: t['calls'] for t in ot.stats()['tools']}"))
            if "skills.shout" in counted and counted.get("demo.upper", 0) >= 3:
                break
            await anyio.sleep(0.1)


async def test_outside_a_run_a_skill_says_how_it_is_called(app: App) -> None:
    with pytest.raises(ToolError, match="call it from the code of a run"):
        await app.executor.call("skills.early", {"n": 1})


async def test_a_changed_skill_counts_in_the_next_run(app: App) -> None:
    file = write_skill(app.executor.project, "changing", 'def changing():\n    """C."""\n    1\n')
    await answer_of(app, "ot.reload()")
    first = await answer_of(app, "skills.changing()")
    file.write_text('def changing():\n    """C."""\n    "second"\n')
    await answer_of(app, "ot.reload()")

    assert (first, await answer_of(app, "skills.changing()")) == ("1", "second")
    file.unlink()


async def test_a_project_has_to_be_trusted_skill_by_skill(tmp_path: Path) -> None:
    project, home = tmp_path / "project", give_demo(tmp_path / "home")
    write_skill(home, "both", 'def both():\n    """B."""\n    "mine"\n')
    write_skill(home, "mine", 'def mine():\n    """M."""\n    "mine"\n')
    async with open_engine(project, home=home) as app:
        theirs = write_skill(project, "theirs", 'def theirs():\n    """T."""\n    "theirs"\n')
        write_skill(project, "both", "this ( is not even read")
        await answer_of(app, "ot.reload()")
        refused = await app.runner.run("skills.theirs()")
        still = await answer_of(app, "skills.both()")
        theirs.with_name("both.py").write_text('def both():\n    """B."""\n    "theirs"\n')
        trust_project(project, home)
        await answer_of(app, "ot.reload()")
        trusted = await answer_of(app, "skills.theirs(), skills.both(), skills.mine()")
        theirs.write_text('def theirs():\n    """T."""\n    "changed"\n')
        await answer_of(app, "ot.reload()")
        changed = await app.runner.run("skills.theirs()")

    word = f"belongs to the project in {project}, which is not trusted in its current state."
    assert f"line 1: The skill theirs {word}" in refused.text
    assert still == "mine"
    assert trusted == "[theirs, theirs, mine]"
    assert f"The skill theirs {word}" in changed.text


async def test_a_pack_named_skills_keeps_its_name(tmp_path: Path) -> None:
    pack = '"""A pack."""\nasync def early() -> str:\n    """E."""\n    return "the pack"\n'
    async with open_engine(tmp_path / "p", extensions={"skills": pack}) as app:
        write_skill(tmp_path / "p", "early", SKILLS["early"])
        await answer_of(app, "ot.reload()")
        names = await answer_of(app, "ot.packs(pattern='skills', info='list')")

        assert names == "[skills, skills_builtin]"
        assert await answer_of(app, "skills_builtin.early(n=3)") == "3"


async def test_code_of_a_skill_reaches_a_kernel_without_secrets(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", secrets={"TOKEN": "hidden-value-123"}) as app:
        write_skill(
            tmp_path / "p", "spill", 'def spill():\n    """S."""\n    "hidden-" + "value-123", "hidden-value-123"\n'
        )
        await answer_of(app, "ot.reload()")

        assert (await answer_of(app, "list(map(len, skills.spill()))")).startswith("[16, 3]")


async def test_a_resumed_run_has_the_calls_of_its_skills_answered(app: App) -> None:
    code = "ot.keep(name='before', value=1)\nshouted = skills.shout(text='resumed', times=3)\n"
    failed = await app.runner.run(f"{code}1 / 0")
    run = failed.text.rpartition('ot.resume(run="')[2].partition('"')[0]

    answer = await answer_of(app, f"ot.resume(run={run!r})\n{code}shouted")

    assert answer.startswith("RESUMED RESUMED RESUMED!")
    assert f"Calls: 4 were answered from run {run}, 0 were made." in answer
