"""What one of many people has in the store: secrets, skills and notes, at every replica, and for nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ot.app import App
from ot.clients.caller import Caller, Choice
from ot.clients.person import Person
from ot.parts.person_overlay import PersonOverlay
from ot.store.sealing import new_key
from tests.http_programs import serve_http
from tests.store.conftest import BOTH, EMBEDDED
from tests.team.people import ALICE, BOB, opened

pytestmark = pytest.mark.anyio

SKILL = """scaffold.skill(name="shout", code="text.upper()", description="Shout a text.", parameters="text: str")"""


@pytest.fixture(params=BOTH)
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[Path], str]:
    """The folders of the machines of two replicas, and the configuration that they have in common."""
    if request.param == EMBEDDED:
        return [tmp_path, tmp_path], ""
    config = f"store: {request.getfixturevalue('database')}\nseal: {{keys: [{new_key()}]}}\n"
    made = [tmp_path / "one", tmp_path / "two"]
    for folder in made:
        folder.mkdir()
    return made, config


async def answer(app: App, person: Person, command: str, *, agrees: bool | None = None) -> str:
    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        assert "text.upper()" in question
        return Choice.ONCE if agrees else None

    caller = Caller(principal=person.principal, ask=None if agrees is None else ask)
    return (await app.runs.run(command, caller=caller)).text


async def test_secrets_skills_and_notes_are_a_persons_own_at_every_replica(folders: tuple[list[Path], str]) -> None:
    (first, second), config = folders
    async with opened(first, config) as apps, apps.use(ALICE) as app:
        assert app.own.secrets is not None
        app.own.secrets.put("BRAVE_API_KEY", "value of Alice")
        assert "said no" in await answer(app, ALICE, SKILL, agrees=False)
        assert "nobody" in (await answer(app, ALICE, SKILL)).lower()
        assert "skills.shout" in await answer(app, ALICE, SKILL, agrees=True)
        assert "already" in await answer(app, ALICE, SKILL, agrees=True)
        assert "Ask an administrator" in await answer(app, ALICE, 'scaffold.extension(name="mine")')
        await answer(app, ALICE, 'notes.write(title="plan", content="deploy on Friday")')

    async with opened(second, config) as apps:
        async with apps.use(ALICE) as app:
            assert await answer(app, ALICE, 'skills.shout(text="loud")') == "LOUD"
            assert await answer(app, ALICE, 'notes.read(title="plan")["content"]') == "deploy on Friday"
            assert app.executor.redactor.text("the value of Alice") == "the ***"
            assert app.own.secrets is not None
            assert app.own.secrets.names() == ["BRAVE_API_KEY"]
        async with apps.use(BOB) as app:
            assert "LOUD" not in await answer(app, BOB, 'skills.shout(text="loud")')
            assert "there is no note" in await answer(app, BOB, 'notes.read(title="plan")')
            assert await answer(app, BOB, 'notes.list()["total"]') == "0"
            assert app.own.secrets is not None
            assert app.own.secrets.names() == []
    for file in [*first.rglob("*"), *second.rglob("*")]:
        assert not file.is_file() or b"value of Alice" not in file.read_bytes(), file


async def test_a_server_is_called_with_each_persons_own_credential(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    secrets = tmp_path / ".onetool" / "secrets.yaml"
    with serve_http("plain") as url:
        secrets.write_text(f'WEB_KEY: "team"\nWEB_URL: "{url}"\n')  # short: others would be masked
        secrets.chmod(0o600)
        config = """
servers:
  web: {url: "${WEB_URL}", headers: {X-Key: "${WEB_KEY}"}}
  own: {url: "${WEB_URL}", headers: {X-Key: "a ${OWN_KEY}"}}
"""
        async with opened(tmp_path, config) as apps, apps.use(ALICE) as alice, apps.use(BOB) as bob:
            assert await answer(alice, ALICE, "import json; json.loads(web.headers())['x-key']") == "team"
            missing = await answer(alice, ALICE, "own.headers()")
            assert "OWN_KEY" in missing
            assert "under Settings on the dashboard" in missing
            assert str(tmp_path) not in missing

            assert alice.own.secrets is not None
            alice.own.secrets.put("WEB_KEY", "ali")
            alice.own.secrets.put("OWN_KEY", "ce")
            alice.own.secrets.put("WEB_URL", "http://127.0.0.1:1/mcp")
            assert await answer(alice, ALICE, "import json; json.loads(web.headers())['x-key']") == "ali"
            assert await answer(alice, ALICE, "import json; json.loads(own.headers())['x-key']") == "a ce"
            assert await answer(bob, BOB, "import json; json.loads(web.headers())['x-key']") == "team"
            assert "OWN_KEY" in await answer(bob, BOB, "own.headers()")

            alice.own.secrets.remove("WEB_KEY")
            alice.own.secrets.remove("OWN_KEY")
            assert await answer(alice, ALICE, "import json; json.loads(web.headers())['x-key']") == "team"
            assert "own is off" in await answer(alice, ALICE, "own.headers()")


SETTINGS = """
aliases: {shout: demo.upper}
policy: {deny: ["demo.ech*"]}
packs:
  demo: {enabled: true}
  scaffold: {enabled: false}
"""


async def test_settings_of_ones_own_add_names_and_only_tighten(folders: tuple[list[Path], str]) -> None:
    (first, second), config = folders
    config += """
packs: {demo: {enabled: true}}
workers: {call_timeout: 300}
grants: {ops: {allow: ["shell.*"]}}
"""
    alice = Person(ALICE.issuer, ALICE.subject, groups=frozenset({"ops"}))
    async with opened(first, config) as apps, apps.use(alice) as app:
        own = app.executor.context_for("test", Caller(principal=alice.principal)).part(PersonOverlay).settings
        assert own is not None
        assert own.write(SETTINGS) == [
            "line 5: packs.demo.enabled: you can switch a pack off, not on; write false, or remove the key."
        ]
        assert await answer(app, alice, 'demo.upper(text="loud")') == "LOUD"
        right = SETTINGS.replace("demo: {enabled: true}", "shell: {enabled: false}")
        assert own.write(f"{right}execution: {{timeout: 9999}}") == []
        assert await answer(app, alice, 'shout(text="loud")') == "LOUD"
        assert app.executor.settings.execution.timeout == 120
        assert app.executor.settings.workers.call_timeout == 300

    async with opened(second, config) as apps:
        async with apps.use(alice) as app:
            assert await answer(app, alice, 'shout(text="loud")') == "LOUD"
            assert "demo.ech" in await answer(app, alice, 'demo.echo(text="a")')
            for pack in ("shell", "scaffold"):
                assert app.executor.settings.packs[pack].enabled is False
        async with apps.use(BOB) as app:
            assert "shout" in await answer(app, BOB, 'shout(text="loud")')
            assert app.executor.settings.policy.deny == ()
