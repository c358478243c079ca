"""The bundle: the same from the same wheel, unpacked by the official tool, and started as its manifest says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from scripts.bundle import build_bundle
from tests.availability import report_missing
from tests.shop.programs import mcpb

pytestmark = [pytest.mark.release, pytest.mark.xdist_group("wheel")]


def test_two_bundles_of_a_wheel_are_the_same(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    assert build_bundle(wheel, tmp_path).read_bytes() == build_bundle(wheel, tmp_path / "other").read_bytes()


async def test_the_bundle_starts_as_its_manifest_says(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    unpacked = mcpb("unpack", build_bundle(wheel, tmp_path), folder)
    assert unpacked.returncode == 0, unpacked.stdout + unpacked.stderr
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    start = manifest["server"]["mcp_config"]
    unset = {f"${{user_config.{name}}}": str(setting["default"]) for name, setting in manifest["user_config"].items()}
    uv = Path(sys.executable).with_name("uv")
    environ = {name: unset[value] for name, value in start["env"].items()}
    environ |= {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "UV_PYTHON": sys.executable, "UV_CACHE_DIR": _cache(uv)}
    environ["UV_OFFLINE"] = "1"  # what it needs is installed before, so that its client need not wait for a network
    _install(uv, folder)

    arguments = [word.replace("${__dirname}", str(folder)) for word in start["args"]]
    server = StdioServerParameters(command=str(uv), args=arguments, env=environ, cwd=tmp_path)
    async with Client(server) as client:
        result = await client.call_tool("run", {"command": "6 * 7"})

    assert start["command"] == "uv"
    assert [block.text for block in result.content if isinstance(block, TextContent)] == ["42"]


def _cache(uv: Path) -> str:
    return subprocess.run([uv, "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()


def _install(uv: Path, folder: Path) -> None:
    """Install what the bundle needs, from the cache if that has it."""
    for offline in (["--offline"], []):
        sync = [str(uv), "sync", "--directory", str(folder), "--no-dev", *offline]
        environ = {**os.environ, "UV_PYTHON": sys.executable}
        done = subprocess.run(sync, env=environ, capture_output=True, text=True, timeout=150, check=False)
        if done.returncode == 0:
            return
    report_missing("what the bundle needs", remedy=f"uv needs a network, or a cache that holds it: {done.stderr}")
