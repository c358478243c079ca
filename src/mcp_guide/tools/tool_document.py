"""Tools for documents: list and read them, create and remove them."""

from __future__ import annotations

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_core import Result, ToolArguments, known, requires_consent
from mcp_core.json_types import JsonObject
from mcp_guide.answers import guide_of, on_disk
from mcp_guide.documents import Summary
from mcp_guide.errors import GuideError
from mcp_guide.guide import Guide
from mcp_guide.names import parse_document_name
from mcp_guide.reporting import word_error
from mcp_guide.search import Match
from mcp_guide.selection import Selection, Wish, select

READ_LIMIT = 100_000  # characters in one answer


class ListDocumentsArgs(Wish):
    limit: int = Field(default=50, ge=1, le=500, description="The most documents to list, best first")


class ReadDocumentsArgs(Wish):
    documents: list[str] = Field(default=[], max_length=50, description="Names, each written category/name")
    limit: int = Field(default=5, ge=1, le=50, description="The most documents to read, besides those named")
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
def list_documents(args: ListDocumentsArgs, ctx: Context[Guide]) -> Result[JsonObject]:
    """List documents of this project's guidance: title, description and size in bytes; a search ranks them."""
    return _list(select(guide_of(ctx), args), args.limit)


@ToolArguments.declare
@on_disk
def read_documents(args: ReadDocumentsArgs, ctx: Context[Guide]) -> Result[JsonObject]:
    """Read documents of this project's guidance: those named, or the best matches."""
    return _read(guide_of(ctx), args)


@requires_consent("CREATE_DOCUMENT", effect="creates or replaces a file in the guide's folder")
@on_disk
def create_document(args: CreateDocumentArgs, ctx: Context[Guide]) -> Result[JsonObject]:
    """Create a document of this project's guidance."""
    name = parse_document_name(args.document)
    document = guide_of(ctx).documents.create(name, args.content, replace=args.replace)
    return Result.ok(_describe(document.summary))


@requires_consent("REMOVE_DOCUMENT", effect="deletes a file from the guide's folder")
@on_disk
def remove_document(args: RemoveDocumentArgs, ctx: Context[Guide]) -> Result[None]:
    """Remove a document of this project's guidance."""
    name = parse_document_name(args.document)
    guide_of(ctx).documents.remove(name)
    return Result.ok(message=f"Removed the document {name}.")


def _list(selection: Selection, limit: int) -> Result[JsonObject]:
    lines = [_describe(summary, match) for summary, match in selection.found[:limit]]
    total = len(selection.found)
    unreadable = {str(item.name): word_error(item.reason).text for item in selection.unreadable[:limit]}
    listed = {"documents": lines, "total": total, **known(unreadable=unreadable or None)}
    if total > len(lines):
        return Result.ok(listed, instruction=f"{len(lines)} of {total} are shown: narrow the choice, or set limit.")
    if not lines:
        return Result.ok(listed, instruction="Nothing fits. Call list_categories to see what there is.")
    return Result.ok(listed)


def _read(guide: Guide, args: ReadDocumentsArgs) -> Result[JsonObject]:
    names = list(dict.fromkeys(args.documents))
    if not names or not args.is_open:
        names += [str(summary.name) for summary, _ in select(guide, args).found[: args.limit]]
    texts: list[JsonObject] = []
    left_out: dict[str, str] = {}
    space = READ_LIMIT
    for name in dict.fromkeys(names):
        try:
            text = guide.documents.read(parse_document_name(name)).text
        except GuideError as error:
            left_out[name] = word_error(error).text
            continue
        if texts and len(text) - args.start > space:
            left_out[name] = "The answer is full; read it on its own."
            continue
        texts.append(_cut(name, text, args.start, space))
        space -= len(texts[-1]["text"])
    return _answer_reading(texts, left_out)


def _cut(name: str, text: str, start: int, space: int) -> JsonObject:
    """Return a document, or the part of it from the character `start` on; `next_start` is where the rest begins."""
    end = start + space
    rest = known(start=start or None, next_start=end if end < len(text) else None)
    return {"document": name, "text": text[start:end], **rest}


def _answer_reading(texts: list[JsonObject], left_out: dict[str, str]) -> Result[JsonObject]:
    if not texts:
        instruction = "Call list_documents to see what there is."
        return Result.failure(" ".join(left_out.values()) or "No document fits.", "not_found", instruction=instruction)
    more = "For the rest of a long document set start to its next_start."
    read = {"documents": texts, **known(left_out=left_out or None)}
    return Result.ok(read, instruction=more if any("next_start" in text for text in texts) else None)


def _describe(summary: Summary, match: Match | None = None) -> JsonObject:
    """Describe one document in a list; `line` is where a search found its words."""
    return {
        "document": str(summary.name),
        "title": summary.title,
        "description": summary.description,
        "size": summary.size,
        **known(
            tags=list(summary.tags) or None,
            template=summary.template or None,
            line=(match and match.line) or None,
            problem=summary.problem and word_error(summary.problem).text,
        ),
    }
