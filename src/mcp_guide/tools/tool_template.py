"""The tool that renders a template with the facts of the project, in a process of its own.

A template can loop without end or ask for all memory there is. A process has limits and can be killed; a thread of the
server has none and cannot.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from datetime import date, datetime
from functools import partial
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments
from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from mcp_guide.errors import GuideError, TemplateFailedError
from mcp_guide.folder import Folder, open_path
from mcp_guide.guide import Guide, answered, guide_of
from mcp_guide.names import DocumentName, parse_document_name

MARKERS: Mapping[str, str | None] = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "requirements.txt": "Python",
    "package.json": "JavaScript",
    "tsconfig.json": "TypeScript",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java",
    "build.gradle": "Java",
    "build.gradle.kts": "Kotlin",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "mix.exs": "Elixir",
    "Package.swift": "Swift",
    "CMakeLists.txt": "C++",
    "Makefile": None,
    "Dockerfile": None,
    ".gitlab-ci.yml": None,
    ".github": None,
}
"""Files that tell what a project is made of, and the language that each stands for."""

_SIZE_LIMIT = 1024 * 1024  # bytes of a file that names the project
_BRANCH = re.compile(r"ref: refs/heads/(?P<name>[^\s\x00-\x1f]{1,250})\s*")
_COMMIT = re.compile(r"(?P<short>[0-9a-f]{12})[0-9a-f]{28,52}\s*")
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
TIME_LIMIT = 15.0  # seconds, however busy the machine is
CPU_LIMIT = 5  # seconds of work
FACTS = "project"  # the name under which templates find the facts
# -P: a file in the working directory must not be imported in place of a library.
_PROGRAM = (sys.executable, "-P", "-m", "mcp_guide.render_process")


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The facts, under the names that templates use: `project.name` and so on; empty where nothing is known."""

    name: str
    description: str
    version: str
    folder: str
    languages: list[str]
    markers: list[str]
    branch: str
    today: str


def collect_facts(project: Path, *, today: date) -> ProjectFacts:
    """Look at a project's root; a file that is broken or a link counts as one that says nothing."""
    with _open(project) as root:
        there = {entry.name for entry in root.entries()} if root else set[str]()
        markers = [marker for marker in MARKERS if marker in there]
        described = _describe(root, markers) if root else {}
        return ProjectFacts(
            name=described.get("name") or project.name,
            description=described.get("description", ""),
            version=described.get("version", ""),
            folder=str(project),
            languages=list(dict.fromkeys(language for marker in markers if (language := MARKERS[marker]))),
            markers=markers,
            branch=_find_branch(project, root) if root else "",
            today=today.isoformat(),
        )


def _describe(root: Folder, markers: list[str]) -> dict[str, str]:
    """Return what the first file that names the project says of it."""
    for marker in markers:
        if read := _READERS.get(marker):
            found = read(_read_text(root, marker))
            texts = {key: value for key, value in found.items() if isinstance(value, str)}
            if texts.get("name"):
                return texts
    return {}


def _find_branch(project: Path, root: Folder) -> str:
    """Read the branch where git keeps it, a short commit where none is checked out."""
    kind = next((entry.kind for entry in root.entries() if entry.name == ".git"), None)
    if kind == "folder":
        with root.open_folder(".git") as repository:
            return _read_head(repository)
    pointer = _read_text(root, ".git").removeprefix("gitdir:").strip() if kind == "file" else ""
    if not pointer or "\0" in pointer:
        return ""
    with _open(project / pointer) as worktree:
        return _read_head(worktree) if worktree else ""


def _read_head(repository: Folder) -> str:
    head = _read_text(repository, "HEAD")
    if branch := _BRANCH.fullmatch(head):
        return branch["name"]
    commit = _COMMIT.fullmatch(head)
    return commit["short"] if commit else ""


def _open(path: Path) -> AbstractContextManager[Folder | None]:
    try:
        return open_path(path, follow=True)
    except OSError:
        return nullcontext()


def _read_text(folder: Folder, name: str) -> str:
    try:
        return folder.read(name, limit=_SIZE_LIMIT).decode("utf-8-sig", "replace")
    except (OSError, GuideError):
        return ""


def _read_table(parse: Callable[[str], Json], text: str) -> Mapping[str, Json]:
    try:
        found = parse(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_READERS: Mapping[str, Callable[[str], Mapping[str, Json]]] = {
    "pyproject.toml": partial(_read_table, lambda text: tomllib.loads(text).get("project")),
    "package.json": partial(_read_table, json.loads),
    "Cargo.toml": partial(_read_table, lambda text: tomllib.loads(text).get("package")),
    "composer.json": partial(_read_table, json.loads),
    "go.mod": lambda text: {"name": module[1].rpartition("/")[2]} if (module := _MODULE.search(text)) else {},
}


async def render_document(
    guide: Guide,
    name: DocumentName,
    variables: Mapping[str, object],
    facts: ProjectFacts,
    *,
    limit: float = TIME_LIMIT,
    cpu_limit: int = CPU_LIMIT,
) -> str:
    """Render the body of a document that exists; raises TemplateFailedError."""
    if FACTS in variables:
        raise TemplateFailedError(str(name), f"the variable name {FACTS} is reserved for the project's facts")
    place = {"folder": str(guide.folder.path), "may_be_link": guide.folder.may_be_link}
    wanted = {"template": str(name), "variables": {**variables, FACTS: asdict(facts)}}
    job = json.dumps({**place, **wanted, "cpu_limit": cpu_limit}).encode()
    try:
        with anyio.fail_after(limit):
            finished = await anyio.run_process(_PROGRAM, input=job, stdout=PIPE, stderr=None, check=False)
    except TimeoutError:
        raise TemplateFailedError(str(name), f"rendering took longer than {limit:g} s") from None
    if finished.returncode != 0:
        raise TemplateFailedError(str(name), "rendering exceeded the time or memory limit")
    found = json.loads(finished.stdout)
    if "text" in found:
        return str(found["text"])
    raise TemplateFailedError(found.get("template", str(name)), found["error"], line=found.get("line"))


class Rendered(TypedDict):
    """A template, filled in."""

    document: str
    text: str


class RenderTemplateArgs(ToolArguments):
    document: str = Field(description="Name of the template, written category/name")
    variables: dict[str, object] = Field(default={}, description="Values for the names that the template uses")


@ToolArguments.declare
@answered
async def render_template(args: RenderTemplateArgs, ctx: Context[Guide]) -> Result[Rendered]:
    """Fill in a document that is a Jinja2 template.

    It knows the project's facts (project.name, description, version, folder, languages, markers, branch, today) and the
    variables given.
    """
    guide = guide_of(ctx)
    name = parse_document_name(args.document)
    await anyio.to_thread.run_sync(guide.documents.read, name)  # a name that is wrong is worded better from here
    today = datetime.now().astimezone().date()
    facts = await anyio.to_thread.run_sync(partial(collect_facts, guide.project, today=today))
    text = await render_document(guide, name, args.variables, facts)
    return Result.ok({"document": str(name), "text": text})
