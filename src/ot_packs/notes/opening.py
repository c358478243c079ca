"""The notes of the person whose call is being made, opened where their store has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from ot.config.paths import PackFolders
from ot.context import current
from ot.errors import ToolError
from ot.parts.person_overlay import PersonOverlay
from ot.store.owner import StoreUnavailableError
from ot_packs.notes.store import Notes, open_notes

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

Made = TypeVar("Made")


async def with_notes(use: Callable[[Notes], Made]) -> Made:
    """Use the notes on a thread, without interruption: nothing is left half done."""
    context = current()
    own = context.part(PersonOverlay)

    def use_file() -> Made:
        with open_notes(context.part(PackFolders).folder_of("notes")) as store:
            return use(store)

    def use_database(link: PostgresLink) -> Made:
        from ot_packs.notes.postgres_store import PostgresNotes

        return use(PostgresNotes(link, own.principal))

    try:
        return await to_thread.run_sync(own.backend.pick, use_file, use_database)
    except StoreUnavailableError as error:
        raise ToolError(f"notes cannot be used now: {error.strerror}") from error
