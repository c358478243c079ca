"""The tool that renders a template with the facts of the project."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments
from mcp_guide.answers import answered, guide_of
from mcp_guide.guide import Guide
from mcp_guide.names import parse_document_name
from mcp_guide.project_facts import collect_facts
from mcp_guide.templates import render_document


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
