"""Answers of runs in the protocol's form."""

from __future__ import annotations

import base64

from mcp_core.json_types import Json, JsonObject
from ot.run.answer import Answer
from ot.text.output import Attached, escape_surrogates
from ot_kernel.values import Audio, Image, Resource

_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The revisions that have brought a kind of content; an older client is told in words that it was there."""


def render_answer(answer: Answer, revision: str = "") -> JsonObject:
    """Return the result of a call: text, and what is beside it as far as a client of this revision can show it."""
    attached = answer.attachments
    content: list[Json] = [_fitting(_render(item), revision) for item in attached] if attached else []
    if answer.text or not content:
        content.insert(0, {"type": "text", "text": escape_surrogates(answer.text)})
    return {"content": content, "isError": answer.is_error}


def _fitting(block: JsonObject, revision: str) -> JsonObject:
    kind = str(block["type"])
    if not revision or revision >= _SINCE.get(kind, ""):
        return block
    what = block.get("uri") or block.get("mimeType")
    return {"type": "text", "text": f"[{kind.replace('_', ' ')}: {what}; this client's protocol cannot show it]"}


def _render(item: Attached) -> JsonObject:
    match item:
        case Image():
            return {"type": "image", "data": _base64(item.data), "mimeType": item.mime_type}
        case Audio():
            return {"type": "audio", "data": _base64(item.data), "mimeType": item.mime_type}
        case Resource(data=bytes(data)):
            return {"type": "resource", "resource": _describe(item, {"blob": _base64(data)})}
        case Resource(text=str(text)):
            return {"type": "resource", "resource": _describe(item, {"text": escape_surrogates(text)})}
        case Resource():
            return {"type": "resource_link", "name": item.name or item.uri, **_describe(item, {})}
    raise TypeError(f"not an attachment: {type(item).__name__}")


def _describe(item: Resource, content: JsonObject) -> JsonObject:
    described: JsonObject = {"uri": item.uri, **content}
    return described if item.mime_type is None else {**described, "mimeType": item.mime_type}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
