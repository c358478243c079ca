"""`packs.NAME.enabled`: packs come and go by the person's word; `demo` comes only by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ot.registry.from_source import read_pack
from tests.engine import open_engine
from tests.opened_executor import BUILT_IN

pytestmark = pytest.mark.anyio

GREET = '''"""Greetings."""


async def hello() -> str:
    """Greet."""
    return "built in"
'''
EXTENSION = '''
def hello() -> str:
    """Greet."""
    return "mine"
'''


OFF = (
    "The pack {0} is switched off. A person can switch it on in their ~/.onetool/onetool.yaml: packs.{0}.enabled: true."
)


async def test_a_newcomer_has_no_demo_and_is_told_how_to_switch_it_on(tmp_path: Path) -> None:
    async with open_engine(tmp_path, demo=False) as app:
        packs = {pack.name for pack in app.registry.packs()}
        answer = await app.runner.run("demo.block(seconds=0, path='/tmp/x')")
        hidden = await app.runner.run("getattr(demo, 'block')(seconds=0)")
        unknown = await app.runner.run("dmo.upper(text='a')")

    assert "demo" not in packs
    assert packs >= {"ot", "proj"}
    assert answer.is_error
    assert answer.text == f"Nothing was executed.\nline 1: {OFF.format('demo')}"
    assert OFF.format("demo") in hidden.text
    assert "There is no pack 'dmo'. Packs: " in unknown.text
    assert "demo" not in unknown.text


async def test_help_listings_and_health_tell_of_a_pack_that_is_switched_off(tmp_path: Path) -> None:
    config = "packs: {greet: {enabled: false}}"
    async with open_engine(tmp_path, config=config, extensions={"greet": EXTENSION}, demo=False) as app:
        help_text = await app.runner.run("ot.help(query=['greet', 'demo.upper'])")
        packs = await app.runner.run("ot.packs(pattern='greet')")
        tools = await app.runner.run("ot.tools(pattern='demo.')")
        everything = await app.runner.run("ot.packs(info='list')")
        health = await app.runner.run("ot.health()['registry']['switched_off']")

    assert help_text.text == f"# greet\n\n{OFF.format('greet')}\n\n# demo.upper\n\n{OFF.format('demo')}"
    assert packs.text == f"[]\n[{OFF.format('greet')}]"
    assert tools.text == f"[]\n[{OFF.format('demo')}]"
    assert "switched off" not in everything.text
    assert health.text == "[demo, greet, shell]"


async def test_demo_is_there_where_it_is_switched_on(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="packs: {demo: {enabled: true}}", demo=False) as app:
        assert (await app.runner.run("demo.upper(text='a')")).text == "A"


async def test_settings_of_demo_do_not_switch_it_on(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="packs: {demo: {timeout: 5}}", demo=False) as app:
        assert (await app.runner.run("demo.upper(text='a')")).is_error


async def test_an_extension_named_demo_needs_no_switch(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"demo": EXTENSION}, demo=False) as app:
        assert (await app.runner.run("demo.hello()")).text == "mine"
        assert app.registry.collisions == ()


@pytest.mark.parametrize("kind", ["built in", "mine"])
async def test_any_pack_can_be_switched_off_and_on_again(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "e" / ".onetool" / "onetool.yaml"
    packs, extensions = ({"greet": GREET}, {}) if kind == "built in" else ({}, {"greet": EXTENSION})
    config = "packs: {greet: {enabled: false}}"
    async with open_engine(tmp_path / "e", config=config, packs=packs, extensions=extensions) as app:
        off = await app.runner.run("greet.hello()")
        file.write_text("packs: {greet: {enabled: true}}")
        await app.executor.call("ot.reload", {})
        on = await app.runner.run("greet.hello()")
        file.write_text(config)
        await app.executor.call("ot.reload", {})
        off_again = await app.runner.run("greet.hello()")

    assert OFF.format("greet") in off.text
    assert on.text == kind
    assert OFF.format("greet") in off_again.text


async def test_every_built_in_pack_can_be_switched_off_and_on(tmp_path: Path) -> None:
    names = {read_pack(file).name for file in BUILT_IN.glob("[!_]*.py")}
    others = names - {"ot"}  # by which the configuration is read again
    file = tmp_path / "e" / ".onetool" / "onetool.yaml"
    async with open_engine(tmp_path / "e", config=_switched(others, on=False), demo=False) as app:
        off = {name: await app.runner.run(f"{name}.anything()") for name in others}
        left = {pack.name for pack in app.registry.packs()}
        file.write_text(_switched(names, on=True))
        await app.executor.call("ot.reload", {})
        on = {pack.name for pack in app.registry.packs()}
        file.write_text(_switched(names, on=False))
        await app.executor.call("ot.reload", {})
        none = {pack.name for pack in app.registry.packs()}
        help_off = await app.runner.run("ot.help()")

    assert {name for name in others if OFF.format(name) not in off[name].text} == set()
    assert (left & names, on & names, none & names) == ({"ot"}, names, set())
    assert OFF.format("ot") in help_off.text


def _switched(names: set[str], *, on: bool) -> str:
    return json.dumps({"packs": {name: {"enabled": on} for name in sorted(names)}})
