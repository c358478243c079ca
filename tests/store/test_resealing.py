"""Keys are replaced: everything is sealed anew, and opens without the old key."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.personal_secrets import PersonalSecrets
from ot.store.opening import PersonalStore, Retention, build_backend
from ot.store.owner import Owner
from ot.store.parts import ChangeStore
from ot.store.sealing import Resealed, Sealer, digest_of_person, new_key, reseal_files
from tests.store.conftest import BOTH, EMBEDDED

pytestmark = pytest.mark.anyio
OLD, NEW = new_key(), new_key()
PRINCIPAL = '["https://id.example","ada"]'


class Place:
    """One store, opened with whatever keys."""

    def __init__(self, folder: Path, address: str) -> None:
        self._people = folder
        self._backend = build_backend(address)

    def open(self, *keys: str) -> tuple[PersonalStore, PersonalSecrets]:
        state = self._people / digest_of_person(PRINCIPAL) / ".onetool" / "state"
        store = self._backend.build_personal_store(state, principal=PRINCIPAL, sealer=lambda: Sealer(keys))
        store.shelf.catch_up()
        return store, PersonalSecrets(store.shelf, PRINCIPAL, lambda: Sealer(keys))

    def changes(self, *keys: str) -> ChangeStore:
        """What a run has changed, sealed as a team's store does."""
        kept = Retention(3600, 1_000_000, 1_000_000)
        state = self._people / digest_of_person(PRINCIPAL) / ".onetool" / "state"
        sealer = lambda: Sealer(keys)  # noqa: E731
        return self._backend.build_store(state, principal=PRINCIPAL, journal=kept, sealer=sealer).open_changes()

    def close(self) -> None:
        self._backend.close()

    def reseal(self, *keys: str) -> Resealed:
        from ot.store.postgres.credentials import reseal_rows

        sealer = Sealer(keys)
        return self._backend.pick(lambda: reseal_files(self._people, sealer), lambda link: reseal_rows(link, sealer))


@pytest.mark.parametrize("kind", BOTH)
async def test_everything_is_sealed_anew_and_opens_without_the_old_key(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = Place(tmp_path, "files" if kind == EMBEDDED else request.getfixturevalue("database"))
    store, secrets = place.open(OLD)
    await store.credentials.write("github", {"count": 1})
    secrets.put("TOKEN", "value of it")

    first, second = place.reseal(NEW, OLD), place.reseal(NEW)

    assert (first.anew, first.already, first.failed) == (2, 0, [])
    assert (second.anew, second.already, second.failed) == (0, 2, [])
    store, secrets = place.open(NEW)
    assert secrets.read() == {"TOKEN": "value of it"}
    assert await store.credentials.read("github") == {"count": 1, "form": 1}
    lost = place.reseal(new_key())
    assert (lost.anew, len(lost.failed)) == (0, 2)
    place.close()


@pytest.mark.parametrize("kind", BOTH)
def test_undo_data_is_sealed_again_or_keeps_its_key(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = Place(tmp_path, "files" if kind == EMBEDDED else request.getfixturevalue("database"))
    run = (Owner(PRINCIPAL, tmp_path), "r1")
    place.changes(OLD).append(run, 0, [b"as it was", b"before"])

    found = place.reseal(NEW, OLD)

    assert found.failed == []
    assert (found.anew, found.waiting) == ((0, 1) if kind == EMBEDDED else (2, 0))
    keys = (NEW, OLD) if found.waiting else (NEW,)
    assert list(place.changes(*keys).read(run, 0, 9)) == [b"as it was", b"before"]
    place.close()
