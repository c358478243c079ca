"""What `ot.health()` tells, of an engine as it really is."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ot.app import App
from ot.errors import ToolError, ToolTimeoutError
from tests.availability import own_mounts_are_allowed
from tests.engine import open_engine
from tests.opened_executor import open_executor

pytestmark = pytest.mark.anyio

PLAIN = "def one():\n    return 1\n"


async def health(app: App) -> dict[str, Any]:
    report: Any = await app.executor.call("ot.health", {})
    return dict(report)


async def test_versions_places_and_counts(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"plain": PLAIN}) as app:
        report = await health(app)

    assert (report["version"], report["python"]) == (version("onetool-run"), platform.python_version())
    assert (report["cwd"], report["project"]) == (str(Path.cwd()), str(tmp_path))
    assert report["registry"] == {
        "status": "ok",
        "pack_count": len(app.registry.packs()),
        "tool_count": len(app.registry.definitions()),
        "switched_off": ["shell"],
    }
    assert (report["problems"], report["collisions"], report["workers"]) == ([], [], [])


async def test_a_file_that_cannot_be_used_is_named_with_line_and_reason(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"broken": "x = 1\ndef f(:\n", "plain": PLAIN}) as app:
        report = await health(app)

    [problem] = report["problems"]
    assert problem["file"] == str(tmp_path / ".onetool" / "tools" / "broken" / "broken_tools.py")
    assert problem["line"] == 2
    assert problem["reason"].startswith("not valid Python")
    assert report["registry"]["status"] == "degraded"


async def test_names_that_two_packs_want_are_told(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"demo": PLAIN}) as app:
        report = await health(app)

    assert report["collisions"] == [
        {
            "name": "demo",
            "kept_by": str(tmp_path / ".onetool" / "tools" / "demo" / "demo_tools.py"),
            "other": "the built-in pack",
            "reachable_as": "demo_builtin",
            "intended": True,
        }
    ]


async def test_the_confinement_that_is_in_force(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        sandbox = (await health(app))["sandbox"]

    assert (sandbox["status"], sandbox["level"]) == ("degraded" if sandbox["missing"] else "ok", "standard")
    assert set(sandbox["layers"]) >= {"landlock", "seccomp"} - set(sandbox["missing"])
    assert sandbox["scratch"] == ("tmpfs" if own_mounts_are_allowed() else "watched")


async def test_runs_without_confinement_say_so(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="execution: {sandbox: 'off'}") as app:
        sandbox = (await health(app))["sandbox"]

    assert sandbox["level"] == "off"
    assert not {"landlock", "seccomp"} & set(sandbox["layers"])


async def test_the_state_of_every_worker(tmp_path: Path) -> None:
    async with open_engine(tmp_path, extensions={"plain": PLAIN}) as app:
        await app.executor.call("plain.one", {})
        [worker] = (await health(app))["workers"]

    assert (worker["pack"], worker["state"], worker["calls"], worker["last_error"]) == ("plain", "idle", 0, None)
    assert worker["pid"] > 0
    assert worker["idle_seconds"] >= 0


async def test_calls_that_still_run_though_cancelled_are_counted(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="packs: {demo: {timeout: 0.05}}") as app:
        with pytest.raises(ToolTimeoutError):
            await app.executor.call("demo.busy", {"seconds": 30})

        assert (await health(app))["running_late"] == 1


async def test_it_is_part_of_an_engine() -> None:
    async with open_executor() as opened:
        with pytest.raises(ToolError, match="Health is not available here"):
            await opened.executor.call("ot.health", {})
