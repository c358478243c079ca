"""Logging in to servers that ask for it: OAuth, the page a browser returns to, and where tokens are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.proxy.authorisation.grants import GrantAuthorisation
    from ot.proxy.authorisation.identity import vouch
else:  # Few servers need them, and they load what reads tokens.
    __getattr__ = lazy_names(__name__)
