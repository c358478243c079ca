"""OneTool's view of itself: listings, help, health, reload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.introspect.catalogue import Catalogue
    from ot.introspect.finder import Finder
    from ot.introspect.health import Health
    from ot.introspect.help import Help
    from ot.introspect.listings import SignatureOf, list_aliases, list_packs, list_snippets, list_tools
    from ot.introspect.not_listed import (
        concerns_help,
        concerns_packs,
        concerns_tools,
        note_refused,
        note_switched_off,
        wait_for_servers,
    )
    from ot.introspect.refused_tools import marking
    from ot.introspect.reload import Reload, find_alias_problems
    from ot.introspect.snippet_text import Expand
else:  # Ranking and help are loaded by whoever first asks for them.
    __getattr__ = lazy_names(__name__)
