"""Opens what recognises people, for as long as a server runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from onetool.people.api_key_verifier import ApiKeyVerifier
from onetool.people.people import People, build_people
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.store.opening import Backend


@asynccontextmanager
async def open_people(loaded: LoadedConfig, backend: Backend) -> AsyncIterator[People | None]:
    """Open what `auth` asks for; None where nobody has to say who they are. Raises MissingExtraError, ConfigError."""
    if not loaded.config.auth.in_force:
        yield None
        return
    keys = backend.build_api_keys(state_folder(loaded.home))
    yield build_people(loaded.config.auth, ApiKeyVerifier(keys))
