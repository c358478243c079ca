"""Results of a server that it calls fresh for a while (`ttlMs`): not asked for again meanwhile, on this connection.

The SDK's client knows which results those are, and which notifications end that. A connection is one person's, so what
is private to one stays theirs. The list of tools is not among them: it is kept with the definitions.
"""

from __future__ import annotations

from mcp.client.caching import CacheConfig, CacheEntry, CacheKey, InMemoryResponseCacheStore

_MOST = 64  # results of one connection
_LARGEST = 512 * 1024  # characters of one


class _BoundedStore(InMemoryResponseCacheStore):
    """The SDK's store, without results that are large: a server decides how large they are, and for how long."""

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        if len(entry.value.model_dump_json()) <= _LARGEST:
            await super().set(key, entry)
        else:
            await self.delete(key)


def fresh_results(place: str) -> CacheConfig:
    """Return how results are kept of the server at a place."""
    return CacheConfig(store=_BoundedStore(max_entries=_MOST), partition=place, target_id=place)
