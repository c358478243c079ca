"""Twelve whole tasks over servers that others wrote, each done twice by fixed scripts: directly, and through `run`.

No model takes part. A script says what one would send, and computes its answer only from what it got back; an answer
that is not the right one ends the measurement. What enters a model's context is counted by a tokenizer.

Every choice that is not forced favours the direct way: it makes no mistake and looks nothing up, calls that do not
depend on each other are one request, and of an answer that has text and structured content only the text counts.
Through `run`, each task begins with a search for the tools and has one attempt that fails; code that works uses only
tools and arguments of which the answers before have told.
"""

from __future__ import annotations
