"""Sealing everything again with the current key, so that older keys can be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import lock
from ot.store.credentials import LOGIN, PATIENCE
from ot.store.sealing import SECRETS, SECRETS_DOCUMENT, Sealer, SealError, place_of


class Resealed:
    """Counts of what was sealed again and what already was, and the reasons why the rest could not be opened."""

    def __init__(self) -> None:
        self.anew = 0
        self.already = 0
        self.failed: list[str] = []

    def seal(self, sealer: Sealer, text: str, place: str, keep: Callable[[str], None]) -> None:
        """Seal one thing again, unless it is sealed with the current key, and store it."""
        try:
            fresh = sealer.reseal(text, place=place)
        except SealError as error:
            self.failed.append(str(error))
            return
        if fresh is None:
            self.already += 1
        else:
            keep(fresh)
            self.anew += 1


def reseal_files(people: Path, sealer: Sealer) -> Resealed:
    """Seal everything in people's folders again; each folder is named by a digest of its person. Raises OSError."""
    found = Resealed()
    for file, place in _find_sealed(people):
        with file.with_suffix(".lock").open("ab") as held:
            lock(held.fileno(), patience=PATIENCE)
            found.seal(sealer, file.read_text(errors="replace"), place, partial(write_private, file))
    return found


def _find_sealed(people: Path) -> Iterator[tuple[Path, str]]:
    for state in sorted(people.glob("*/.onetool/state")):
        person = state.parent.parent.name
        for file in sorted((state / "servers" / "tokens").glob("*.json")):
            yield file, place_of(LOGIN, person, file.stem)
        secrets = state / SECRETS_DOCUMENT
        if secrets.exists():
            yield secrets, place_of(SECRETS, person)
