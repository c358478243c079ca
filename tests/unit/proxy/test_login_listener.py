"""The page that a browser returns to after a login: it believes only what knows the login's state."""

from __future__ import annotations

import http.client
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack

import anyio
import pytest
from mcp.client.auth import OAuthFlowError

from ot.proxy.authorisation.landing import LoginListener
from tests.ports import find_free_port

pytestmark = pytest.mark.anyio

PATIENCE = 60.0  # seconds: a bound for a machine that is busy
STATE = "the-login's+state"
ADDRESS = "https://login.example/authorize?client_id=x&state=the-login%27s%2Bstate"


class Page:
    """An open listener, and a browser that visits it."""

    def __init__(self) -> None:
        self.port = find_free_port()
        self.listener = LoginListener(self.port, patience=PATIENCE)

    async def visit(self, query: str, *, method: str = "GET") -> int:
        def visit() -> int:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request(method, f"/callback?{query}")
            status = connection.getresponse().status
            connection.close()
            return status

        return await anyio.to_thread.run_sync(visit)


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    page = Page()
    await page.listener.open(ADDRESS)
    yield page
    page.listener.close()


@pytest.mark.parametrize(
    "forged",
    ["error=access_denied", "error=x&state=", "error=x&state=other", "code=c", "code=c&state=other", "state=other"],
)
async def test_what_does_not_know_the_state_changes_nothing(page: Page, forged: str) -> None:
    assert await page.visit(forged) == 400
    assert await page.visit("code=genuine&state=the-login%27s%2Bstate") == 200

    result = await page.listener.wait()

    assert (result.code, result.state) == ("genuine", STATE)


async def test_a_refusal_that_knows_the_state_ends_the_login(page: Page) -> None:
    assert await page.visit("error=access_denied&error_description=No.&state=the-login%27s%2Bstate") == 200

    with pytest.raises(OAuthFlowError, match=r"refused: No\."):
        await page.listener.wait()


async def test_an_answer_counts_once(page: Page) -> None:
    assert await page.visit("code=genuine&state=the-login%27s%2Bstate") == 200
    assert await page.visit("error=late&state=the-login%27s%2Bstate") == 400

    assert (await page.listener.wait()).code == "genuine"


async def test_the_state_of_an_earlier_login_is_worth_nothing(page: Page) -> None:
    page.listener.close()
    await page.listener.open(ADDRESS.replace("state=the", "state=new"))

    assert await page.visit("code=old&state=the-login%27s%2Bstate") == 400
    assert await page.visit("code=new&state=new-login%27s%2Bstate") == 200
    assert (await page.listener.wait()).code == "new"


async def test_where_a_login_has_no_state_nothing_is_believed() -> None:
    page = Page()
    await page.listener.open("https://login.example/authorize?client_id=x")

    assert await page.visit("code=c&state=") == 400
    assert await page.visit("error=e") == 400
    page.listener.close()


async def test_visitors_that_say_nothing_do_not_keep_the_browser_out(page: Page) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE))
            await anyio.sleep(0)
        assert await page.visit("code=genuine&state=the-login%27s%2Bstate") == 200
        assert len(page.listener._visitors) <= 16
