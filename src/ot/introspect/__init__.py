"""OneTool's view of itself: listings, help, health, reload.

Answers have a budget of 8,000 characters: a search shows ten tools, three of them with signatures, because the next
thing a model does is call one. Listings are values and always complete; only their text is cut. A listing waits only
for what it could show (`not_listed`): servers that match its pattern and are still connecting, each once.

`Reload` reads the configuration with the arguments of the start; a mistake raises before anything is touched. Then
every part follows in one step (`ot.parts.app_parts`). A run keeps the settings with which it began, calls in flight
continue, and old secrets stay masked. Keys that are read only at the start (`when=NEXT_START`) are named in the
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.introspect.contents_help import name_contents, note_contents
    from ot.introspect.finder import Finder
    from ot.introspect.health import Health
    from ot.introspect.help import Catalogue, Help
    from ot.introspect.listings import Expand, SignatureOf, list_aliases, list_packs, list_snippets, list_tools
    from ot.introspect.not_listed import (
        concerns_help,
        concerns_packs,
        concerns_tools,
        marking,
        note_refused,
        note_switched_off,
        wait_for_servers,
    )
    from ot.introspect.registry_help import suggest_servers
    from ot.introspect.reload import Reload, find_alias_problems
else:  # Ranking and help are loaded by whoever first asks for them.
    __getattr__ = lazy_names(__name__)
