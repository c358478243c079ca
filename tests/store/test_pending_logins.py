"""Logins under way: only whose they are ends them, once, at whichever replica."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from ot.proxy.plan import TeamLogins
from ot.store.logins import MemoryPendingLogins, PendingLogins
from ot.store.opening import build_backend
from tests.store.conftest import BOTH, EMBEDDED

pytestmark = pytest.mark.anyio
URL = "https://team.example"


@pytest.fixture(params=BOTH)
def replicas(request: pytest.FixtureRequest) -> Iterator[tuple[PendingLogins, PendingLogins]]:
    """The logins as two replicas see them; without PostgreSQL there is one."""
    if request.param == EMBEDDED:
        only = MemoryPendingLogins()
        yield only, only
        return
    address = request.getfixturevalue("database")
    with closing(build_backend(address)) as one, closing(build_backend(address)) as other:
        yield one.build_pending_logins(), other.build_pending_logins()


async def test_a_browser_returns_to_any_replica_once(replicas: tuple[PendingLogins, PendingLogins]) -> None:
    waiting, other = (TeamLogins(each, "ada", URL) for each in replicas)
    await waiting.begin("s1", "github")
    assert await waiting.pending.take("s1") is None

    assert await other.bring({"state": "s1", "code": "c", "iss": "https://github.example", "more": "x"}) == "github"
    assert await other.bring({"state": "s1", "code": "another"}) is None

    assert await waiting.pending.take("s1") == {"code": "c", "iss": "https://github.example"}
    assert await waiting.pending.take("s1") is None
    assert await other.bring({"state": "s1", "code": "c"}) is None


async def test_what_the_browser_of_another_person_brings_is_not_taken(
    replicas: tuple[PendingLogins, PendingLogins],
) -> None:
    mallory, victim = TeamLogins(replicas[0], "mallory", URL), TeamLogins(replicas[1], "bob", URL)
    await mallory.begin("s2", "github")  # and she sends the address to Bob

    assert await victim.bring({"state": "s2", "code": "code of Bob"}) is None

    assert await mallory.pending.take("s2") is None


async def test_a_refusal_is_brought_too_and_anything_else_is_not(
    replicas: tuple[PendingLogins, PendingLogins],
) -> None:
    logins = TeamLogins(replicas[0], "cyd", URL)
    await logins.begin("s3", "github")
    for query in (
        {},
        {"state": "s3"},
        {"code": "c"},
        {"state": "other", "code": "c"},
        {"state": "s3", "code": "c" * 9000},
    ):
        assert await logins.bring(query) is None

    assert await logins.bring({"state": "s3", "error": "access_denied"}) == "github"
    assert await logins.pending.take("s3") == {"error": "access_denied"}


async def test_a_login_that_was_begun_too_long_ago_is_over(replicas: tuple[PendingLogins, PendingLogins]) -> None:
    await replicas[0].begin("s4", "dan", "github", seconds=-1)

    assert await replicas[1].bring("s4", "dan", {"code": "c"}) is None
