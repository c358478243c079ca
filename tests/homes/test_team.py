"""The database of a team that a released version has kept loses nothing to this one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ot.results.lines import StoredValue
from ot.store.opening import build_backend
from ot.store.owner import Owner
from tests.homes import HOMES
from tests.homes.team import ADA, ENTRY, KEPT, KEY, LOGIN, PROJECT, SEALER, load, open_results
from tests.packs.db.servers import RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]


@pytest.mark.parametrize("kept", sorted(HOMES.glob("*.sql.xz")), ids=lambda kept: kept.name.removesuffix(".sql.xz"))
async def test_nothing_of_a_teams_database_is_lost(kept: Path, postgres: RunningServer, tmp_path: Path) -> None:
    address = load(postgres, f"kept_{kept.name.split('.sql')[0].replace('.', '_')}", kept)

    with closing(build_backend(address)) as backend:
        person = backend.build_personal_store(tmp_path, principal=ADA, sealer=lambda: SEALER)
        store = backend.build_store(tmp_path, principal=ADA, journal=KEPT)
        person.shelf.catch_up()
        login = await person.credentials.read("github")
        results = open_results(store.results)

        assert login is not None
        assert login["tokens"] == LOGIN["tokens"]
        assert person.shelf.read("servers/accepted/a.json") == b"accepted"
        assert list(backend.build_api_keys(tmp_path).entries()) == [KEY]
        assert store.kept_values.get(Owner(ADA, PROJECT), "rows") == ENTRY
        found = [StoredValue(results.find_now(each.handle)).read() for each in results.all_now()]
        assert found == [["a result"]]
