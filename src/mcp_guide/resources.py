"""Documents as MCP resources: `guide://category/name`."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from mcp_guide.errors import BadNameError, GuideError, NotFoundError
from mcp_guide.guide import Guide
from mcp_guide.names import DocumentName, check_name
from mcp_guide.reporting import word_error
from mcp_guide.selection import Wish, select

ADDRESS = "guide://{category}/{name}"
MARKDOWN = "text/markdown"


def list_documents(guide: Guide) -> Iterator[Resource]:
    """Describe every document that can be read."""
    for summary, _ in select(guide, Wish()).found:
        yield Resource(
            uri=address_of(summary.name),
            name=str(summary.name),
            title=summary.title,
            description=summary.description or None,
            mime_type=MARKDOWN,
            size=summary.size,
        )


def read_document(guide: Guide, category: str, name: str) -> str:
    """Return the text of one document; raises the errors that the server library turns into answers."""
    try:
        wanted = DocumentName(check_name("category", category), check_name("document", name))
        return guide.documents.read(wanted).text
    except (NotFoundError, BadNameError) as error:
        raise ResourceNotFoundError(word_error(error).text) from error
    except (GuideError, OSError) as error:
        raise ResourceError(word_error(error).text) from error


def address_of(name: DocumentName) -> str:
    """Write the address of a document, whatever characters its name has."""
    return ADDRESS.format(category=quote(name.category, safe=""), name=quote(name.name, safe=""))
