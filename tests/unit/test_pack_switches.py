"""`packs.NAME.enabled`: packs come and go by the person's word; `demo` comes only by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import open_engine

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


async def test_a_newcomer_has_no_demo_and_is_told_what_there_is(tmp_path: Path) -> None:
    async with open_engine(tmp_path, demo=False) as app:
        packs = {pack.name for pack in app.registry.packs()}
        answer = await app.runner.run("demo.block(seconds=0, path='/tmp/x')")

    assert "demo" not in packs
    assert packs >= {"ot", "proj"}
    assert answer.is_error
    assert "There is no pack 'demo'. Packs: " in answer.text


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

    assert "There is no pack 'greet'" in off.text
    assert on.text == kind
    assert "There is no pack 'greet'" in off_again.text
