"""Conversations with models that use our tools, the same whichever provider serves the model.

`tool_loop` is the one loop, over `messages`, `memory`, `failover` (which model to ask, retries, prices),
`offered_tools` and `providers`. A provider is one folder, found on disk; its `__init__` describes it without loading
its library. It is a `Model`: a request in our form in, pieces in our form out, and only `ModelError` raised.

- A turn is acted on only when complete, so one that breaks off can be requested again.
- A call and its result are stored together. Memory drops whole exchanges first, then rounds, and frees a quarter at
  once, because a provider's cache is invalid from the first changed message. What one provider alone understands is
  `Opaque`.
- Closing `reply` closes the HTTP stream, cancels the calls, and waits for both. What was done by then is remembered.
- `onetool.run` is registered only for the assistant, and a run inside a run is refused.
- The pack `llm` uses `failover` and `providers` through `opening.ModelAccess`; nothing here imports a pack.
- Prices come from the person: a table in the code would be wrong within months. An unknown price is null, not zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.ai.failover import Totals
    from ot.ai.messages import Event, Finished, Model, Retrying, TextDelta, ToolEnded, ToolStarted, Usage
    from ot.ai.tool_loop import ToolLoop, build_client
else:  # The configuration reads the providers' folders, and needs nothing else.
    __getattr__ = lazy_names(__name__)
