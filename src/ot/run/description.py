"""The description of `run`, as models read it wherever it is offered."""

from __future__ import annotations

DESCRIPTION = """Execute Python; the value of its last expression is the answer, after anything printed.

Tools are grouped in packs and called with keywords: `proj.path(name="site")`. `ot.help(query="send a mail")` finds
the right ones with their signatures, `ot.packs()` lists packs, `ot.tools(pattern="proj")` tools. Calls compose:
loop, filter, `ot.parallel(...)`, and return only what you need. Each run starts fresh, in a sandbox: files, network
and programs are reached through packs only."""
