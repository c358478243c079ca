"""The engine in this process, with real kernels: for tests that need no protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

from ot.app import App, open_app
from ot.config.loader import load_config
from tests.demo_pack import with_demo
from tests.read_packs import give_definitions
from tests.trusting import trust_project
from tests.zygotes import launch_forked


@asynccontextmanager
async def open_engine(
    folder: Path,
    *,
    config: str = "",
    packs: Mapping[str, str] | None = None,
    extensions: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    home: Path | None = None,
    demo: bool = True,
    tolerant: bool = False,
) -> AsyncIterator[App]:
    """An engine whose project, and home unless it is given, is one folder; packs and extensions by name and text.

    A person who has another home has trusted the project; whether they have the pack `demo` is for that home to say.
    """
    (folder / ".onetool").mkdir(parents=True)
    (folder / ".onetool" / "onetool.yaml").write_text(with_demo(config) if demo and home is None else config)
    if secrets:
        file = folder / ".onetool" / "secrets.yaml"
        file.touch(mode=0o600)
        file.write_text(json.dumps(dict(secrets)))
    pack_folder = folder / "packs"
    pack_folder.mkdir()
    for name, source in (packs or {}).items():
        (pack_folder / f"{name}.py").write_text(source)
    for name, source in (extensions or {}).items():
        write_extension(folder, name, source)
    if home is not None:
        trust_project(folder, home)
    give_definitions(home or folder)
    loaded = load_config(environ={}, cwd=folder, home=home or folder, tolerant=tolerant)
    async with open_app(loaded, launched=launch_forked(loaded), packs=[pack_folder]) as app:
        yield app


def write_extension(folder: Path, name: str, source: str) -> Path:
    """An extension file in a project or a home."""
    file = folder / ".onetool" / "tools" / name / f"{name}_tools.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(source))
    return file


def write_skill(folder: Path, name: str, source: str) -> Path:
    """A skill in a project or a home."""
    file = folder / ".onetool" / "skills" / f"{name}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(source).lstrip("\n"))
    return file


async def answer_of(app: App, command: str) -> str:
    """The answer to a command that must succeed."""
    answer = await app.runner.run(command)
    assert not answer.is_error, answer.text
    return answer.text
