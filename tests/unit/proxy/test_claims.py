"""What servers are told of the clients at the front: no more than those can do, and under the servers' own keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ot.clients.caller import Caller
from ot.clients.front import ELICIT, LIST_ROOTS, SAMPLE, Abilities, Front, KnownClients
from tests.proxied import open_proxied, program

pytestmark = pytest.mark.anyio

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "sessionless"])


ANSWERS: dict[str, dict[str, Any]] = {
    ELICIT: {"action": "accept", "content": {"name": "Ada"}},
    SAMPLE: {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"},
    LIST_ROOTS: {"roots": []},
}


class Client:
    """A client with some abilities, which agrees to everything."""

    def __init__(self, *abilities: str) -> None:
        self.able = Abilities(**{f"can_{name}": True for name in abilities})
        self.keys: list[str] = []
        self.front = Front(self, self.able, self._answer)

    async def _answer(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        self.keys.append(key)
        return ANSWERS[method]


@pytest.mark.parametrize(
    ("abilities", "claims"),
    [
        ((), {}),
        (("sample",), {"sampling": {}}),
        (("elicit", "list_roots"), {"elicitation": {"form": {}}, "roots": {}}),
        (("open_urls",), {"elicitation": {"url": {}}}),
    ],
)
def test_a_client_is_claimed_to_have_what_it_has(abilities: tuple[str, ...], claims: Any) -> None:
    assert Client(*abilities).able.claims == claims


def own_claims(era: str) -> dict[str, Any]:
    """Return what we can do ourselves, whoever the client is."""
    return {"extensions": {"io.modelcontextprotocol/tasks": {}}} if era == "sessionless" else {}


def test_clients_that_come_together_can_do_what_any_of_them_can() -> None:
    known = KnownClients()
    for client in (Client("elicit"), Client("open_urls"), Client("sample"), Client()):
        known.note(client.able)

    assert known.claims == {"elicitation": {"form": {}, "url": {}}, "sampling": {}}


@BOTH_ERAS
async def test_without_a_client_a_server_is_told_of_no_abilities(tmp_path: Path, era: str) -> None:
    async with open_proxied(tmp_path, {"asks": program("asks", era)}) as proxied:
        assert json.loads(await proxied.call("asks.claims")) == own_claims(era)


@BOTH_ERAS
async def test_a_server_that_was_connected_before_learns_of_the_first_client_and_what_it_can_do(
    tmp_path: Path, era: str
) -> None:
    async with open_proxied(tmp_path, {"asks": program("asks", era)}) as proxied:
        await proxied.servers.probe()

        claims = await proxied.call_as(Caller(front=Client("elicit").front), "asks.claims")

        assert json.loads(claims) == {"elicitation": {"form": {}}, **own_claims(era)}


async def test_a_server_that_is_in_use_is_not_started_again_for_another_client(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"asks": program("asks")}) as proxied:
        await proxied.call_as(Caller(front=Client("sample").front), "asks.claims")

        claims = await proxied.call_as(Caller(front=Client("elicit").front), "asks.claims")

        assert json.loads(claims) == {"sampling": {}}


async def test_without_sessions_each_call_claims_for_its_own_client(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"asks": program("asks", "sessionless")}) as proxied:
        claims = [
            json.loads(await proxied.call_as(Caller(front=client.front), "asks.claims"))
            for client in (Client("sample"), Client(), Client("list_roots"))
        ]

    own = own_claims("sessionless")
    assert claims == [{"sampling": {}, **own}, own, {"roots": {}, **own}]


async def test_a_question_in_an_answer_has_the_servers_own_key(tmp_path: Path) -> None:
    client = Client("elicit", "sample", "list_roots")
    async with open_proxied(tmp_path, {"asks": program("asks", "sessionless")}) as proxied:
        said = [
            await proxied.call_as(Caller(front=client.front), f"asks.{tool}") for tool in ("elicit", "sample", "roots")
        ]

    assert client.keys == ["my-elicit", "my-sample", "my-roots"]
    assert [list(json.loads(each)) for each in said] == [["my-elicit"], ["my-sample"], ["my-roots"]]
