"""One thread at a time loads the protocol's library.

Two that do get each other's half-loaded modules: one holds a package and wants a module of it, the other holds that
module and wants its package, and Python resolves that by giving one of them what is there so far.
"""

from __future__ import annotations

from threading import RLock

LOADING_PROTOCOL = RLock()
