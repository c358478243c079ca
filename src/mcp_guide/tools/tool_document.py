"""Tools for documents: list and read them, create and remove them."""

from __future__ import annotations

from typing import NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments, requires_consent
from mcp_guide.documents import Summary
from mcp_guide.errors import GuideError
from mcp_guide.guide import Guide, guide_of, on_disk
from mcp_guide.names import parse_document_name
from mcp_guide.reporting import word_error
from mcp_guide.selection import Match, Wish, select

READ_LIMIT = 100_000  # characters in one answer


class DocumentLine(TypedDict):
    """One document in a list; `line` is where a search found its words, `problem` what is wrong in its front matter."""

    document: str
    title: str
    description: str
    size: int
    tags: NotRequired[list[str]]
    template: NotRequired[bool]
    line: NotRequired[str]
    problem: NotRequired[str]


class Listed(TypedDict):
    """Documents that fit; `total` counts those left out as well, `unreadable` says why by the document's name."""

    documents: list[DocumentLine]
    total: int
    unreadable: NotRequired[dict[str, str]]


class DocumentText(TypedDict):
    """A document, or its part from the character `start` on; the rest begins at `next_start`."""

    document: str
    text: str
    start: NotRequired[int]
    next_start: NotRequired[int]


class Read(TypedDict):
    """Documents with their text; `left_out` says why by the document's name."""

    documents: list[DocumentText]
    left_out: NotRequired[dict[str, str]]


class RemovedDocument(TypedDict):
    """A document that is gone."""

    removed: str


class ListDocumentsArgs(Wish):
    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of documents to list, best first")


class ReadDocumentsArgs(Wish):
    documents: list[str] = Field(default=[], max_length=50, description="Names, each written category/name")
    limit: int = Field(default=5, ge=1, le=50, description="Maximum number of documents to read besides those named")
    start: int = Field(default=0, ge=0, description="The character to start from, to read the rest of a long document")


class CreateDocumentArgs(ToolArguments):
    document: str = Field(description="Name, written category/name; the category must exist")
    content: str = Field(
        description="Markdown; may begin with front matter: title, description, tags, template: true for a template"
    )
    replace: bool = Field(default=False, description="Replace the document of this name")


class RemoveDocumentArgs(ToolArguments):
    document: str = Field(description="Name, written category/name")


@ToolArguments.declare
@on_disk
def list_documents(args: ListDocumentsArgs, ctx: Context[Guide]) -> Result[Listed]:
    """List documents of this project's guidance: title, description and size in bytes; a search ranks them."""
    selection, limit = select(guide_of(ctx), args), args.limit
    lines = [_describe(summary, match) for summary, match in selection.found[:limit]]
    total = len(selection.found)
    listed: Listed = {"documents": lines, "total": total}
    if selection.unreadable:
        listed["unreadable"] = {str(item.name): word_error(item.reason).text for item in selection.unreadable[:limit]}
    instruction = None if lines else "Nothing matches. Call `list_categories` to see what exists."
    if total > len(lines):
        instruction = f"{len(lines)} of {total} are shown: narrow the search, or raise limit."
    return Result.ok(listed, instruction=instruction)


@ToolArguments.declare
@on_disk
def read_documents(args: ReadDocumentsArgs, ctx: Context[Guide]) -> Result[Read]:
    """Read documents of this project's guidance: those named, or the best matches."""
    guide, names = guide_of(ctx), list(dict.fromkeys(args.documents))
    if not names or not args.is_open:
        names += [str(summary.name) for summary, _ in select(guide, args).found[: args.limit]]
    texts: list[DocumentText] = []
    left_out: dict[str, str] = {}
    space = READ_LIMIT
    for name in dict.fromkeys(names):
        try:
            text = guide.documents.read(parse_document_name(name)).text
        except GuideError as error:
            left_out[name] = word_error(error).text
            continue
        if texts and len(text) - args.start > space:
            left_out[name] = "The answer is full; read this document on its own."
            continue
        texts.append(_cut(name, text, args.start, space))
        space -= len(texts[-1]["text"])
    if not texts:
        reason = " ".join(left_out.values()) or "No document matches."
        return Result.failure(reason, "not_found", instruction="Call `list_documents` to see what exists.")
    more = "For the rest of a long document set start to its next_start."
    read: Read = {"documents": texts}
    if left_out:
        read["left_out"] = left_out
    return Result.ok(read, instruction=more if any("next_start" in text for text in texts) else None)


@requires_consent("CREATE_DOCUMENT", effect="creates or replaces a file in the guide's folder")
@on_disk
def create_document(args: CreateDocumentArgs, ctx: Context[Guide]) -> Result[DocumentLine]:
    """Create a document of this project's guidance."""
    name = parse_document_name(args.document)
    document = guide_of(ctx).documents.create(name, args.content, replace=args.replace)
    return Result.ok(_describe(document.summary))


@requires_consent("REMOVE_DOCUMENT", effect="deletes a file from the guide's folder")
@on_disk
def remove_document(args: RemoveDocumentArgs, ctx: Context[Guide]) -> Result[RemovedDocument]:
    """Remove a document of this project's guidance."""
    name = parse_document_name(args.document)
    guide_of(ctx).documents.remove(name)
    return Result.ok({"removed": str(name)}, message=f"Removed the document {name}.")


def _cut(name: str, text: str, start: int, space: int) -> DocumentText:
    end = start + space
    part: DocumentText = {"document": name, "text": text[start:end]}
    if start:
        part["start"] = start
    if end < len(text):
        part["next_start"] = end
    return part


def _describe(summary: Summary, match: Match | None = None) -> DocumentLine:
    name, title, description = str(summary.name), summary.title, summary.description
    line = DocumentLine(document=name, title=title, description=description, size=summary.size)
    if summary.tags:
        line["tags"] = list(summary.tags)
    if summary.template:
        line["template"] = True
    if match is not None and match.line:
        line["line"] = match.line
    if summary.problem:
        line["problem"] = word_error(summary.problem).text
    return line
