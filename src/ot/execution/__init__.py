"""The door: every call of every tool, from whichever side it comes, passes `ToolExecutor.call`.

`steps` lists what a call of one tool has to pass, built once from what the tool needs: a tool that nobody journals,
audits or guards passes four steps, one with everything twelve. Each step is an object in the file of its subject, with
`begin`, `end` and `fail`, and can be built and tested alone. `call` says when each is called, and `tool_executor` names
them in their order. `pack_door` is what a tool may use meanwhile, `wording` turns errors into sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

__all__ = ["AnswerToList", "FilesBeside", "QuestionText"]

if TYPE_CHECKING:
    from ot.execution.plans import AnswerToList
    from ot.execution.question_text import FilesBeside, QuestionText
else:  # most runs ask nobody
    __getattr__ = lazy_names(__name__)
