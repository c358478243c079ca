"""The program that renders one template: a job as JSON on stdin, the text or the mistake as JSON on stdout.

It runs apart from the server so that its limits are the operating system's.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping
from pathlib import Path

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mcp_core.json_types import Json, JsonObject
from mcp_guide.documents import Documents
from mcp_guide.errors import GuideError
from mcp_guide.folder import GuideFolder
from mcp_guide.names import parse_document_name
from ot_guardian import end_with_parent

MEMORY_LIMIT = 256 * 1024 * 1024  # bytes
TEXT_LIMIT = 200_000  # characters
_SCHEME = "guide://"
# What a template can do wrong: arithmetic, lookups, wrong types, endless macros, too much of everything.
_MISTAKES = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class _GuideLoader(BaseLoader):
    """Finds what a template includes or extends among the documents of the guide, by `category/name`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._head_lines: dict[str, int] = {}

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:
        try:
            document = self._documents.read(parse_document_name(template))
        except GuideError:
            raise TemplateNotFound(template, f"there is no document {template}") from None
        self._head_lines[template] = document.text.count("\n") - document.body.count("\n")
        return document.body, f"{_SCHEME}{template}", None

    def place(self, template: str, line: int) -> JsonObject:
        """Say where a line of a body stands in its document."""
        return {"template": template, "line": line + self._head_lines.get(template, 0)}


def main() -> None:
    """Render the job on stdin, for as long as the server that wants it is there."""
    end_with_parent()
    job = json.load(sys.stdin.buffer)
    folder = GuideFolder(Path(job["folder"]), may_be_link=job["may_be_link"])
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, job["cpu_limit"])
    _limit(resource.RLIMIT_DATA, MEMORY_LIMIT)
    answer = render(Documents(folder), job["template"], job["variables"])
    sys.stdout.write(json.dumps(answer))


def render(documents: Documents, template: str, variables: Mapping[str, Json]) -> JsonObject:
    """Render a document and return its `text`, or the `error` with `template` and `line` where these are known."""
    loader = _GuideLoader(documents)
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # the outcome is Markdown for a model, not a page for a browser
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = ""
    try:
        for piece in environment.get_template(template).generate(variables):
            text += piece
            if len(text) > TEXT_LIMIT:
                return {"error": f"its text is longer than {TEXT_LIMIT} characters"}
        return {"text": text}
    except TemplateSyntaxError as error:
        return {"error": error.message, **loader.place(error.name or template, error.lineno)}
    except TemplateError as error:
        return {"error": error.message or type(error).__name__, **_find_place(error, loader)}
    except _MISTAKES as error:
        return {"error": f"{type(error).__name__}: {error}", **_find_place(error, loader)}


def _find_place(error: BaseException, loader: _GuideLoader) -> JsonObject:
    """Find the template and its line: Jinja puts them into the traceback."""
    place: JsonObject = {}
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.startswith(_SCHEME):
            place = loader.place(file.removeprefix(_SCHEME), traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    main()
