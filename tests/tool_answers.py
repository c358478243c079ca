"""The answer of one of our own MCP servers, taken apart: the value or the failure, and what is said beside it."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import CallToolResult, TextContent


def read_answer(result: CallToolResult) -> dict[str, Any]:
    """Give `value`, or `error` and `error_type`; with `message` and `instruction` where there are any."""
    blocks = [block for block in result.content if isinstance(block, TextContent)]
    assert len(blocks) == len(result.content)
    first, *others = blocks
    said = {_AUDIENCES[_audience(block)]: block.text for block in others}
    if result.is_error:
        assert result.structured_content is None
        meta = {key: value for key, value in (result.meta or {}).items() if "/" not in key}  # those of a library
        return {"error": first.text, **meta, **said}
    value = _value_of(result)
    assert first.text == value or json.loads(first.text) == value
    return {"value": value, **said}


_AUDIENCES = {"user": "message", "assistant": "instruction"}


def _audience(block: TextContent) -> str:
    assert block.annotations is not None
    assert block.annotations.audience is not None
    [audience] = block.annotations.audience
    return audience


def _value_of(result: CallToolResult) -> Any:
    structured = result.structured_content
    assert structured is not None, result.content
    return structured["result"] if list(structured) == ["result"] else structured
