"""The proj pack: projects of the configuration as paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.errors import UnknownProjectError
from ot.execution.wording import word_error
from ot_kernel.project_path import ProjectPath
from tests.opened_executor import open_executor

CONFIG = {"projects": {"onetool": {"path": "/p/onetool", "attrs": {"lang": "python"}}, "other": "/p/other"}}


async def test_a_project_is_found_by_its_name() -> None:
    async with open_executor(config=CONFIG) as opened:
        path = await opened.executor.call("proj.path", {"name": "onetool"})

    assert isinstance(path, ProjectPath)
    assert (path.project, str(path), path.lang) == ("onetool", "/p/onetool", "python")
    assert path / "src" == Path("/p/onetool/src")


async def test_projects_are_listed_with_their_paths() -> None:
    async with open_executor(config=CONFIG) as opened:
        found = await opened.executor.call("proj.list", {})

    assert found == {"onetool": Path("/p/onetool"), "other": Path("/p/other")}


async def test_an_unknown_project_says_which_there_are() -> None:
    async with open_executor(config=CONFIG) as opened:
        with pytest.raises(UnknownProjectError) as raised:
            await opened.executor.call("proj.path", {"name": "onetol"})

    assert word_error(raised.value) == "proj has no 'onetol'. Functions: list, path. Projects: onetool, other."
