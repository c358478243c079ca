"""The tool that renders a template with the facts of the project, in a process of its own.

A template can loop without end or ask for all memory there is. A process has limits and can be killed; a thread of the
server has none and cannot.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from subprocess import PIPE

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments
from mcp_guide.errors import TemplateFailedError
from mcp_guide.guide import Guide, answered, guide_of
from mcp_guide.names import DocumentName, parse_document_name
from mcp_guide.project_facts import ProjectFacts, collect_facts

TIME_LIMIT = 15.0  # seconds, however busy the machine is
CPU_LIMIT = 5  # seconds of work
FACTS = "project"
"""The name under which templates find the facts."""

# -P: a file in the working directory must not be imported in place of a library.
_PROGRAM = (sys.executable, "-P", "-m", "mcp_guide.render_process")


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
    job = {
        "folder": str(guide.folder.path),
        "may_be_link": guide.folder.may_be_link,
        "template": str(name),
        "cpu_limit": cpu_limit,
        "variables": {**variables, FACTS: asdict(facts)},
    }
    try:
        with anyio.fail_after(limit):
            finished = await anyio.run_process(
                _PROGRAM, input=json.dumps(job).encode(), stdout=PIPE, stderr=None, check=False
            )
    except TimeoutError:
        raise TemplateFailedError(str(name), f"rendering took longer than {limit:g} s") from None
    return _read_answer(str(name), finished.stdout, finished.returncode)


def _read_answer(name: str, answer: bytes, status: int) -> str:
    if status != 0:
        raise TemplateFailedError(name, "rendering exceeded the time or memory limit")
    found = json.loads(answer)
    if "text" in found:
        return str(found["text"])
    raise TemplateFailedError(found.get("template", name), found["error"], line=found.get("line"))


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
