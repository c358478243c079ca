"""Extensions become packs beside the built-in ones, and what happens to their files is seen while we run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.errors import UnknownPackError
from ot.registry.definitions import Cancellation, PackDefinition
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.workers.discovery import INTERVAL, FolderContents, ToolFolder, list_folder
from ot.workers.extension import Extension
from ot.workers.extension_loader import ExtensionLoader
from tests.opened_executor import define

pytestmark = pytest.mark.anyio

NOTES = '''
# /// script
# requires-python = ">=3.11"
# dependencies = ["packaging>=24"]
# ///
"""Notes of all kinds."""

import packaging

secrets = ("NOTES_TOKEN",)


async def find(*, text: str, limit: int = 10) -> list[str]:
    """Find notes.

    Args:
        text: What stands in them.
        limit: How many at most.

    Returns:
        Their titles.

    Example:
        notes.find(text="tea")
    """
'''


class Clock:
    """Seconds that pass as the test says."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Workspace:
    """A project and a home with a loader over both; the built-in pack `basic` is there already."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project" / ".onetool" / "tools"
        self.home = folder / "home" / ".onetool" / "tools"
        self.clock = Clock()
        self.registry = ToolRegistry()
        self.registry.register_pack(
            PackDefinition("basic", "Built in.", tools={"upper": define("basic.upper")}), {"upper": answer("built in")}
        )
        self.loader = ExtensionLoader(
            self.registry, [ToolFolder(self.project), ToolFolder(self.home)], call_nobody, timeout=60, clock=self.clock
        )

    def write(self, text: str = "def f(): ...\n", *, name: str = "notes", home: bool = False) -> Path:
        file = (self.home if home else self.project) / name / f"{name}_tools.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    async def call(self, name: str) -> Any:
        return await self.registry.executor(name)({})

    def problems(self) -> list[str]:
        return [problem.reason for problem in self.registry.problems]


def answer(value: Any) -> ToolFunction:
    async def call(arguments: dict[str, Any]) -> Any:
        return value

    return call


def call_nobody(extension: Extension, tool: str) -> ToolFunction:
    """In place of a worker: the answer says who would have been asked."""
    return answer((extension, tool))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def test_a_definition_is_as_full_as_that_of_a_built_in_pack(workspace: Workspace) -> None:
    file = workspace.write(NOTES)
    workspace.loader.load()

    find = workspace.registry.get("notes.find")
    parameters: Any = find.parameters
    assert workspace.registry.pack("notes").description == "Notes of all kinds."
    assert find.signature == "notes.find(*, text: str, limit: int = 10) -> list[str]"
    assert parameters["properties"]["limit"] == {
        "type": "integer",
        "default": 10,
        "description": "How many at most.",
    }
    assert (find.docs.returns, find.docs.example) == ("Their titles.", 'notes.find(text="tea")')
    assert (find.source, find.file, find.cancellation) == ("local", file, Cancellation.WORKER)
    assert (find.timeout, find.secrets) == (60, ("NOTES_TOKEN",))


async def test_a_call_goes_to_the_file_with_the_header_that_it_has(workspace: Workspace) -> None:
    file = workspace.write(NOTES)
    plain = workspace.write(name="plain")
    workspace.loader.load()

    extension, tool = await workspace.call("notes.find")
    assert (extension.pack, extension.file, tool) == ("notes", file, "find")
    assert extension.header is not None
    assert await workspace.call("plain.f") == (Extension("plain", plain, None, plain.parents[3], plain), "f")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:\n", "not valid Python: "),
        ("def f(): ...\n\0", "not valid Python: "),
        ("def f(): ...  # \xff", "not valid Python: "),
        ("(" * 300, "not valid Python: "),
        ("_x = 1\n", "it has no tools"),
        ("pack = 'no name'\ndef f(): ...\n", "'no name' cannot be the name of a pack"),
        ("def f(a, /): ...\n", "f has positional-only parameters"),
    ],
    ids=["syntax", "null-byte", "not-utf8", "nesting", "no-tools", "pack-name", "positional-only"],
)
async def test_a_file_that_cannot_be_used_is_told_and_harms_no_other(
    workspace: Workspace, text: str, reason: str
) -> None:
    workspace.write("").write_bytes(text.encode("latin-1"))
    workspace.write(name="other")
    workspace.loader.load()

    [problem] = workspace.problems()
    assert problem.startswith(reason)
    assert [pack.name for pack in workspace.registry.packs()] == ["basic", "other"]


async def test_a_file_in_the_wrong_place_is_told(workspace: Workspace) -> None:
    workspace.write().rename(workspace.project / "notes" / "tools.py")
    workspace.loader.load()

    assert workspace.problems() == ["it holds no notes_tools.py"]


async def test_a_built_in_pack_moves_aside_and_comes_back(workspace: Workspace) -> None:
    file = workspace.write(name="basic")
    workspace.loader.load()
    beside = await workspace.call("basic_builtin.upper")
    [collision] = workspace.registry.collisions
    file.unlink()
    await workspace.loader.catch_up(at_once=True)

    assert beside == "built in"
    assert (collision.name, collision.kept_by, collision.reachable_as) == ("basic", str(file), "basic_builtin")
    assert [tool.name for tool in workspace.registry.definitions()] == ["basic.upper"]
    assert await workspace.call("basic.upper") == "built in"
    assert workspace.registry.collisions == ()


async def test_an_extension_of_the_project_comes_before_that_of_the_person(workspace: Workspace) -> None:
    near, far = workspace.write(), workspace.write(home=True)
    workspace.loader.load()
    [collision] = workspace.registry.collisions

    assert workspace.registry.get("notes.f").file == near
    assert (collision.kept_by, collision.other, collision.reachable_as) == (str(near), str(far), None)

    near.unlink()
    await workspace.loader.catch_up(at_once=True)
    assert workspace.registry.get("notes.f").file == far
    assert workspace.registry.collisions == ()


async def test_files_that_come_change_and_go_are_seen(workspace: Workspace) -> None:
    async def tools_after(change: Callable[[], object]) -> list[str]:
        change()
        workspace.clock.now += INTERVAL
        await workspace.loader.catch_up()
        return [tool.name for tool in workspace.registry.definitions()]

    workspace.loader.load()
    assert await tools_after(lambda: workspace.write()) == ["basic.upper", "notes.f"]
    assert await tools_after(lambda: workspace.write("def g(): ...  # renamed\n")) == ["basic.upper", "notes.g"]
    assert await tools_after(lambda: workspace.write("def g(: ...  # broken\n")) == ["basic.upper"]
    assert len(workspace.problems()) == 1
    assert await tools_after(lambda: workspace.write("def h(): ...  # put right\n")) == ["basic.upper", "notes.h"]
    assert workspace.problems() == []
    assert await tools_after(lambda: workspace.write().unlink()) == ["basic.upper"]
    with pytest.raises(UnknownPackError):
        workspace.registry.pack("notes")


async def test_the_folders_are_looked_at_no_more_than_once_a_second(workspace: Workspace) -> None:
    workspace.loader.load()
    workspace.write()
    workspace.clock.now += INTERVAL / 2
    await workspace.loader.catch_up()
    early = [pack.name for pack in workspace.registry.packs()]
    workspace.clock.now += INTERVAL / 2
    await workspace.loader.catch_up()

    assert early == ["basic"]
    assert [pack.name for pack in workspace.registry.packs()] == ["basic", "notes"]


async def test_what_has_not_changed_stays_registered_as_it_is(workspace: Workspace) -> None:
    workspace.write()
    workspace.loader.load()
    before = workspace.registry.find("notes.f")
    workspace.write(name="other")
    await workspace.loader.catch_up(at_once=True)

    assert workspace.registry.find("notes.f") is before
    assert workspace.registry.get("other.f").pack == "other"


async def test_a_folder_that_does_not_answer_keeps_nobody_waiting(workspace: Workspace) -> None:
    answered = threading.Event()

    def wait(folder: ToolFolder) -> FolderContents:
        answered.wait(60)
        return list_folder(folder)

    loader = ExtensionLoader(
        workspace.registry, [ToolFolder(workspace.project)], call_nobody, timeout=60, list_folder=wait, patience=0.5
    )
    workspace.write()
    with anyio.fail_after(60):
        await loader.catch_up()
    before = [pack.name for pack in workspace.registry.packs()]
    answered.set()
    await loader.catch_up(at_once=True)

    assert before == ["basic"]
    assert workspace.registry.get("notes.f").pack == "notes"


async def test_problems_of_other_packs_are_left_alone(workspace: Workspace) -> None:
    workspace.write("def f(:\n")
    workspace.loader.load()
    own = workspace.registry.problems[0]
    workspace.registry.problems.insert(0, other := type(own)(Path("demo.py"), "something else"))
    workspace.write("def f(): ...  # put right\n")
    await workspace.loader.catch_up(at_once=True)

    assert workspace.registry.problems == [other]
