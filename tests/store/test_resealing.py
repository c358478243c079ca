"""Keys are replaced: everything is sealed anew, and opens without the old key."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.personal_secrets import PersonalSecrets
from ot.store.opening import PersonalStore, build_backend
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
