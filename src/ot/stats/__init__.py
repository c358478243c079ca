"""Statistics: what was called, how it went, and what it saved.

The hot path appends a tuple (`recorder`); a thread writes one batch per second. None of it can fail a run: problems
appear in the log once, and in `ot.health()`. What is stored is the kind of content, not tokens: tokens are computed on
demand (`savings`), so a better ratio corrects the past too. All tables are pruned to the same moment, since a run
without its calls would mislead. Savings are estimated conservatively: tokens count once, only packs that were used
count as connected, loops count as one turn. A call's time leaves out the start of its worker or server. The report is
one HTML page that needs nothing else; a model chooses its path, so it must be inside a root, end in `.html`, and may
replace only a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.stats.report import render_report, write_report
    from ot.stats.savings import write_definition
    from ot.stats.summary import summarize
else:  # The database's library, and a template engine, are loaded by those who read.
    __getattr__ = lazy_names(__name__)
