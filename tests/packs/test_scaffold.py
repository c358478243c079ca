"""The scaffold pack: a new extension from a run, usable in the next one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.engine import open_engine

pytestmark = pytest.mark.anyio


async def test_a_new_extension_works_in_the_next_run(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        written = yaml.safe_load((await app.runner.run("scaffold.extension(name='weather')")).text)
        answer = await app.runner.run("weather.hello(name='Ada', times=2)")
        refused = await app.runner.run("weather.hello(name='Ada', times=0)")

    assert answer.text == "Hello, Ada! Hello, Ada!"
    assert "weather.hello: times must be at least 1, not 0" in refused.text
    assert Path(written["file"]) == tmp_path / ".onetool" / "tools" / "weather" / "weather_tools.py"
    assert Path(written["test"]).exists()


@pytest.mark.parametrize("name", ["demo", "ot", "json", "not a name", "../../x"])
async def test_a_name_that_could_not_be_used_is_refused_in_words(tmp_path: Path, name: str) -> None:
    async with open_engine(tmp_path) as app:
        answer = await app.runner.run(f"scaffold.extension(name={name!r})")

    assert answer.is_error
    assert "No extension" in answer.text
    assert not (tmp_path / ".onetool" / "tools").exists()
