"""The common base of our MCP servers: results, arguments, registration, consent, secrets, logs; no server library.

Small modules that need the standard library only are imported by their own names: `atomic_write`, `backoff`,
`distribution`, `facts_error`, `installation`, `json_types`, `known_secrets`, `lazy_names`, `line_log`,
`nearest_names` and `standard_streams`; so is `mcp_log`, for a server's own log. Everything else that others may use is
named here.

A tool returns `Result[T]`, and `T`, a TypedDict, is its output schema. A success crosses as the value, without
`success`; a failure as its sentence, marked as an error, with `error_type` in `_meta`, since clients check structured
content against the schema. In sentences a tool stands in backticks under its plain name, and `with_final_names` puts in
the name that the client knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from mcp_core.flat_signature import Answer, ServerLibrary, Unanswered
    from mcp_core.known_secrets import KnownSecrets
    from mcp_core.line_log import TRACE
    from mcp_core.mcp_log import Redactor
    from mcp_core.result import Report, Result, ToolReply, answer_in_words, quote_name, with_final_names
    from mcp_core.schema_text import ArgumentProblemsError
    from mcp_core.tool_arguments import ToolArguments, requires_consent
    from mcp_core.tool_decorator import ExtMcpToolDecorator
else:  # Some need pydantic, which a process that wants only a small module of this package should not load.
    __getattr__ = lazy_names(__name__)
