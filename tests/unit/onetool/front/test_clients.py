"""What is remembered of clients, here and at other replicas, and how the server describes itself to them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from onetool.front.commands import Client, Clients, Commands
from onetool.front.definition import INSTRUCTIONS, final_names, instruct, own_definition
from onetool.front.late_app import LateApp, LateApps, open_late_app, open_late_apps
from onetool.front.rendering import ProgressReport
from ot.apps import Apps
from ot.clients.caller import IDLE, ClientMemory
from ot.clients.front import Abilities, Front
from ot.clients.person import LOCAL_PERSON, Person
from ot.config.loader import load_config
from ot.config.mistakes import Mistake
from ot.errors import ConfigError
from ot.run.answer import Answer
from ot.run.waiting_runs import RunState, UnknownStateError, WaitingRuns
from ot.store.owner import StoreUnavailableError
from ot.store.replicas import RememberedClient
from tests.engine import open_engine

pytestmark = pytest.mark.anyio


class Replicas:
    """The common knowledge of replicas, which cannot be reached while it is `gone`."""

    def __init__(self) -> None:
        self.known: dict[str, RememberedClient] = {}
        self.saved = 0
        self.gone = False

    async def recall(self, principal: str) -> RememberedClient:
        self._reach()
        return self.known.get(principal, RememberedClient())

    async def remember(self, principal: str, client: RememberedClient, forget: Collection[str] = ()) -> None:
        self._reach()
        self.saved += 1
        before = self.known.get(principal, RememberedClient())
        self.known[principal] = RememberedClient(before.read.difference(forget) | client.read, client.agreed)

    def _reach(self) -> None:
        if self.gone:
            raise StoreUnavailableError("nobody answers")


def test_a_person_without_a_session_is_remembered_until_an_idle_hour_has_passed() -> None:
    now = 0.0
    clients = Clients(clock=lambda: now)
    memory = clients.shared("ada")
    bob = clients.shared("bob")
    now = IDLE
    assert clients.shared("ada") is memory
    assert bob is not memory
    now = 2 * IDLE
    assert clients.shared("ada") is memory
    now = 3 * IDLE + 1
    assert clients.shared("ada") is not memory


def test_the_first_memory_is_for_one_client_only() -> None:
    first = ClientMemory(1)
    clients = Clients(first=first)

    assert clients.shared("ada") is first
    assert clients.shared("bob") is not first


async def test_what_a_client_did_at_one_replica_counts_at_the_others() -> None:
    replicas = Replicas()
    here, there = Clients(replicas), Clients(replicas)
    memory = here.shared("ada")
    memory.note({"mail.read"})
    await here.save("ada")
    memory.agreed.add(("mail.send", "policy"))
    await here.save("ada")
    await here.save("ada")
    known = there.shared("ada")
    await there.recall("ada")
    await there.save("ada")

    assert (known.read, known.agreed) == ({"mail.read"}, {("mail.send", "policy")})
    assert replicas.saved == 2
    assert there.shared("bob").read == set()


async def test_a_rule_that_stopped_a_call_acts_by_call_at_all_replicas_until_a_person_agrees_at_one() -> None:
    replicas = Replicas()
    here, there = Clients(replicas), Clients(replicas)
    memory, known = here.shared("ada"), there.shared("ada")
    memory.note({"mail.read", "#a.1"})
    memory.note({"#a.2"})
    memory.stopped.add("mail.* > web.*")
    await here.save("ada")
    await there.recall("ada")
    stopped = {*known.stopped}
    known.stopped.clear()
    await there.save("ada")
    await here.recall("ada")

    assert stopped == {"mail.* > web.*"}
    assert memory.stopped == set()
    assert known.read == {"mail.read", "#a.2"}


async def test_somebody_who_has_no_client_here_is_not_looked_up() -> None:
    replicas = Replicas()
    replicas.gone = True
    await Clients(replicas).recall("ada")
    await Clients(replicas).save("ada")
    for clients in (Clients(), Clients(replicas)):
        clients.shared("ada")
    with pytest.raises(StoreUnavailableError):
        await clients.recall("ada")


@pytest.mark.parametrize(
    ("config", "recalls"), [("policy: {ask: [demo.upper]}", True), ("execution: {warm: 1}", False)]
)
async def test_a_store_that_is_gone_is_said_in_the_answer(tmp_path: Path, config: str, *, recalls: bool) -> None:
    replicas = Replicas()
    replicas.gone = True
    async with open_late_app(lambda: open_engine(tmp_path / "home", config=config)) as app:
        commands = Commands(app, Clients(replicas))

        async def run(person: Person) -> Answer:
            memory = commands.clients.shared(person.principal)
            memory.note({"something"})
            client = Client(person, "raw", memory, Front(object()), ProgressReport(_unheard))
            answer = await commands.run("1", client)
            assert isinstance(answer, Answer)
            return answer

        answer = await run(LOCAL_PERSON)
        replicas.gone = False
        again = await run(LOCAL_PERSON)

    assert answer.is_error
    assert "nobody answers" in answer.text
    assert ("ot.runs()" in answer.text) is not recalls  # a run that never began is not looked for
    assert again.text == "1"


async def _unheard(done: float, total: float | None, message: str | None) -> None: ...


async def test_each_person_has_an_engine_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "onetool.yaml").write_text("{}")
    team = load_config(tmp_path / "onetool.yaml", environ={}, cwd=tmp_path, home=tmp_path)
    ada, bob = Person("issuer", "ada"), Person("issuer", "bob")
    async with open_late_apps(lambda apps: Apps(team, opened=apps.opened).serve()) as apps:
        assert apps.all_open() == []
        assert await apps.why_not_ready()
        async with apps.use(ada) as first, apps.use(bob) as second, apps.use(ada) as again:
            assert first is again
            assert first is not second
            assert dict(apps.all_open()) == {ada.principal: first, bob.principal: second}
        assert not await apps.why_not_ready()


async def test_clients_are_known_by_their_person() -> None:
    ada, bob = Person("issuer", "ada"), Person("issuer", "bob")
    of_one, of_many = LateApp(), LateApps()
    for apps in (of_one, of_many):
        apps.clients_of(ada).note(Abilities(can_sample=True))

    assert [list(apps.clients_of(ada).claims) for apps in (of_one, of_many)] == [["sampling"], ["sampling"]]
    assert [list(apps.clients_of(bob).claims) for apps in (of_one, of_many)] == [["sampling"], []]
    assert of_one.all_open() == []


def test_a_client_is_told_what_mistakes_keep_off() -> None:
    def mistake(name: str) -> Mistake:
        return Mistake(("packs", name), ConfigError("wrong"))

    some = instruct([mistake("db"), mistake("db"), mistake("web")])
    ten, more = (instruct([mistake(f"p{number}") for number in range(count)]) for count in (10, 12))

    assert instruct([]) == INSTRUCTIONS
    assert some.startswith(INSTRUCTIONS)
    assert some.endswith(": packs.db, packs.web.")
    assert ten.endswith("packs.p9.")
    assert more.endswith("packs.p9 and 2 more.")


def test_a_client_puts_our_instructions_and_the_tool_into_its_context() -> None:
    instructions, _, tool = own_definition().partition("\n")

    assert instructions == INSTRUCTIONS
    assert json.loads(tool)["name"] == "run"


async def test_an_answer_goes_to_the_replica_where_its_run_waits() -> None:
    class There:
        async def resume(self, state: RunState, answers: object, **_: object) -> Answer:
            return Answer(f"{state.run} goes on there")

    commands = Commands(LateApp(), waiting=WaitingRuns("here"), elsewhere=There())  # type: ignore[arg-type]

    assert await commands.resume("there.r2222222.secret~3", {}, LOCAL_PERSON, ProgressReport(_unheard)) == Answer(
        "r2222222 goes on there"
    )
    for alone in (commands, Commands(LateApp(), waiting=WaitingRuns("here"))):
        with pytest.raises(UnknownStateError):
            await alone.resume("here.r2222222.secret~3", {}, LOCAL_PERSON, ProgressReport(_unheard))


def test_the_environment_may_ask_for_a_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)
    assert final_names(look=False) == {"run": "run"}
    monkeypatch.setenv("MCP_TOOL_PREFIX", "my")
    assert final_names(look=True) == {"my_run": "run", "my_look": "look"}
