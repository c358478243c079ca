"""Opens what recognises people, for as long as a server runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from onetool.people.api_key_verifier import ApiKeyVerifier
from onetool.people.people import People, build_people
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.store.opening import build_api_keys

if TYPE_CHECKING:  # its library is loaded where a database is configured
    from ot.store.postgres.link import PostgresLink


@asynccontextmanager
async def open_people(loaded: LoadedConfig, link: PostgresLink | None) -> AsyncIterator[People | None]:
    """Open what `auth` asks for; None where nobody has to say who they are. Raises MissingExtraError, ConfigError."""
    if not loaded.config.auth.in_force:
        yield None
        return
    keys = build_api_keys(state_folder(loaded.home), link)
    yield build_people(loaded.config.auth, ApiKeyVerifier(keys))
