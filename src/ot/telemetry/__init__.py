"""Traces and metrics for the operators of a server; they contain no arguments, values or names of people.

Figures are counted in plain lists, and only where somebody can read them; labels are packs, methods and known types of
errors, and what would begin a series too many is `_OTHER`. The parent of a call's span is in its `Caller`, since
messages of a kernel are handled outside of the context of its run. What leaves is filtered to known attributes,
without events or messages (`otlp`), the SDK's spans too. Queues are bounded, and have two seconds at the end.
"""

from __future__ import annotations
