"""Plain requests: what is sent, and an answer as a value."""

from __future__ import annotations

import json
from typing import TypedDict
from urllib.parse import urlencode

from mcp_core.json_types import Json
from ot.errors import ToolError
from ot_packs.net.bounded import Answer
from ot_packs.web.charset import decode_page


class Described(TypedDict):
    """The headers and the body of an answer."""

    headers: dict[str, str]
    body: Json | bytes


def encode_body(value: Json, form: dict[str, str] | None, text: str | None) -> tuple[bytes | None, dict[str, str]]:
    """Return the bytes that are sent, and the header that says what they are; raises ToolError if two are given."""
    if sum(given is not None for given in (value, form, text)) > 1:
        raise ToolError("a request has one body: pass json, form or text")
    if value is not None:
        return json.dumps(value).encode(), {"content-type": "application/json"}
    if form is not None:
        return urlencode(form).encode(), {"content-type": "application/x-www-form-urlencoded"}
    return (text.encode(), {"content-type": "text/plain; charset=utf-8"}) if text is not None else (None, {})


def describe_answer(answer: Answer) -> Described:
    """Return an answer as values: JSON where it is JSON, else text where it is text, else bytes."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return {"headers": headers, "body": _body(answer)}


def _body(answer: Answer) -> Json | bytes:
    kind = answer.media_type
    if kind == "application/json" or kind.endswith("+json"):
        try:
            value: Json = json.loads(answer.body)
        except (ValueError, RecursionError):
            return decode_page(answer.body, answer.charset)[0]  # what it says it is, it is not
        return value
    if kind.startswith("text/") or kind.endswith("xml") or not answer.body:
        return decode_page(answer.body, answer.charset)[0]
    return answer.body
