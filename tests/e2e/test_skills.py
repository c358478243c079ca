"""Skills and kept values behind the real server, and `onetool skills` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import Client

from tests.e2e.raw_server import environment_of
from tests.engine import write_skill
from tests.preloaded import run_preloaded
from tests.real_server import connect_server

SHOUT = '''
    def shout(*, text: str, times: int = 1) -> str:
        """Shout a text.

        Example:
            skills.shout(text="hey")
        """
        " ".join([demo.upper(text=text)] * times)
'''


async def run(client: Client, command: str) -> str:
    answer = await client.call_tool("run", {"command": command})
    return "".join(getattr(part, "text", "") for part in answer.content)


@pytest.mark.anyio
async def test_skills_and_kept_values_work_for_the_official_client(tmp_path: Path) -> None:
    write_skill(tmp_path, "shout", SHOUT)
    write_skill(tmp_path, "broken", "def broken(:\n")
    async with connect_server(tmp_path) as client:
        kept = await run(
            client, "ot.keep(name='words', value=['to', 'be'] * 50_000)\nskills.shout(text='hey', times=2)"
        )
    async with connect_server(tmp_path) as client:
        later = await run(client, "len(ot.kept(name='words')), skills.shout(text=ot.kept(name='words')[0])")
        broken = await run(client, "skills.broken()")

    assert kept == "HEY HEY"
    assert later == "[100000, TO]"
    assert "skills.broken is broken: ~/.onetool/skills/broken.py, line 1: not valid Python" in broken


def test_a_person_sees_their_skills_and_what_is_wrong_with_others(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    write_skill(home, "shout", SHOUT)
    broken = write_skill(home, "broken", 'def broken():\n    """B."""\nprint(1)\n')
    write_skill(project, "theirs", 'def theirs():\n    """T."""\n')

    def onetool(*arguments: str) -> tuple[int, str, str]:
        done = run_preloaded(*arguments, cwd=project, env=environment_of(home))
        return done.returncode, done.stdout, done.stderr

    status, listed, complaints = onetool("skills")
    shown = onetool("skills", "show", "shout")
    missing = onetool("skills", "show", "shuot")
    described = json.loads(onetool("skills", "--json")[1])
    trust = onetool("trust")

    assert status == 0
    assert (
        listed == "skills.shout(*, text: str, times: int = 1) -> str\n    Shout a text.  [~/.onetool/skills/shout.py]\n"
    )
    assert f".onetool/skills/theirs.py is not trusted; see onetool trust {project}" in complaints
    assert f"broken: {broken}, line 3: only imports" in complaints
    assert shown[:2] == (0, f"# ~/.onetool/skills/shout.py\n{(home / '.onetool/skills/shout.py').read_text()}")
    assert (missing[0], missing[2]) == (1, "There is no skill 'shuot'. Skills: shout\n")
    assert [(each["name"], each["example"]) for each in described] == [("shout", 'skills.shout(text="hey")')]
    assert "code that runs confined, with access to all your tools, when a run calls skills.theirs()" in trust[1]
