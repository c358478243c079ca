"""Pools on either engine, over the same extensions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from ot.workers.extension import Extension
from tests.ray.cluster import STATE, environ_for_ray
from tests.worker_pool import Engine, open_engine, write_extension

HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.onetool]
# engine = "ray"
{options}# ///
"""


def write_heavy(folder: Path, source: str, *, name: str = "heavy", **options: object) -> Extension:
    """Write an extension that asks for Ray; `options` are lines of TOML in its header."""
    lines = "".join(f"# {key} = {value}\n" for key, value in options.items())
    return write_extension(folder, HEADER.format(options=lines) + dedent(source), name)


@asynccontextmanager
async def open_on(
    address: str | None, folder: Path, *extensions: Extension, secrets: Mapping[str, str] | None = None, **workers: Any
) -> AsyncIterator[Engine]:
    """Open an executor whose workers run on the cluster at an address, or here."""
    settings = {**workers, **({"engine": "ray", "ray_address": address} if address else {})}
    async with open_engine(
        folder, *extensions, config={"workers": settings}, secrets=secrets, environ=environ_for_ray(), state=STATE
    ) as engine:
        yield engine
