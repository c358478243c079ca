"""A person's part of the store, as their engine uses it: other replicas and the dashboard may change it meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal_secrets import PersonalSecrets, with_own_secrets
from ot.config.personal_settings import PersonalSettings, with_own_settings
from ot.logs import write_log
from ot.parts.stores import sealer_of
from ot.store.opening import Backend, PersonalStore
from ot.store.shelf import Shelf


@dataclass(eq=False)
class PersonOverlay:
    """A person's part of the store; `secrets` and `settings` are what one of many people sets for themselves."""

    principal: str
    backend: Backend
    store: PersonalStore
    secrets: PersonalSecrets | None = None
    settings: PersonalSettings | None = None
    follow_again: Callable[[], Awaitable[None]] | None = None  # lets the engine use what has changed

    def __post_init__(self) -> None:
        self._state = self._look()

    @property
    def alone(self) -> bool:
        """True for the one person of a machine, who sets everything in files of their own."""
        return self.secrets is None and self.settings is None and type(self.store.shelf) is Shelf

    async def join(self, loaded: LoadedConfig) -> LoadedConfig:
        """Return a configuration together with the person's own secrets and settings; as it is, if they have none."""
        if self.secrets is not None and self.secrets.state():
            loaded = await anyio.to_thread.run_sync(with_own_secrets, loaded, self.secrets)
        if self.settings is not None and self.settings.state():
            loaded = await anyio.to_thread.run_sync(with_own_settings, loaded, self.settings)
        return loaded

    async def catch_up(self) -> None:
        """Use secrets and settings as they are now; those of other replicas are fetched meanwhile, for the next run."""
        if not self.store.shelf.is_recent():
            asyncio.get_running_loop().run_in_executor(None, _fetch, self.store.shelf)
        if (state := self._look()) != self._state:
            self._state = state
            if self.follow_again is not None:
                await self.follow_again()

    def _look(self) -> tuple[tuple[int, ...], ...]:
        return tuple(each.state() for each in (self.secrets, self.settings) if each is not None)


async def open_overlay(loaded: LoadedConfig, backend: Backend) -> PersonOverlay:
    """Open a person's part of the store; where that is gone, what is known of it here counts meanwhile."""
    store = personal_store_of(loaded, backend)
    if not store.shelf.is_recent():
        await anyio.to_thread.run_sync(_fetch, store.shelf)
    if loaded.administrator is None:
        return PersonOverlay(loaded.principal, backend, store)
    secrets = PersonalSecrets(store.shelf, loaded.principal, sealer_of(loaded))
    return PersonOverlay(loaded.principal, backend, store, secrets, PersonalSettings(store.shelf))


def personal_store_of(loaded: LoadedConfig, backend: Backend | None = None) -> PersonalStore:
    """Build the part of the store that belongs to the person of a configuration; files, where no backend is given."""
    return (backend or Backend()).build_personal_store(
        state_folder(loaded.home),
        principal=loaded.principal,
        sealer=sealer_of(loaded),
        alone=loaded.administrator is None,
    )


def _fetch(shelf: Shelf) -> None:
    try:
        shelf.catch_up(at_once=False)
    except OSError as error:
        write_log(logging.WARNING, "shelf.catch_up", reason=str(error))
