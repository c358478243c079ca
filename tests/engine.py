"""The engine in this process, with real kernels: for tests that need no protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ot.app import App, open_app
from ot.config.loader import load_config


@asynccontextmanager
async def open_engine(folder: Path, *, config: str = "", packs: Mapping[str, str] | None = None) -> AsyncIterator[App]:
    """An engine whose home and project are one folder, with further packs by name and source text."""
    (folder / ".onetool").mkdir()
    (folder / ".onetool" / "onetool.yaml").write_text(config)
    pack_folder = folder / "packs"
    pack_folder.mkdir()
    for name, source in (packs or {}).items():
        (pack_folder / f"{name}.py").write_text(source)
    loaded = load_config(environ={}, cwd=folder, home=folder)
    async with open_app(loaded, packs=[pack_folder]) as app:
        yield app
