"""A person is asked in the middle of a run, over stdio, by clients of both eras of the protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, InputRequiredResult, TextContent

from tests.demo_pack import with_demo
from tests.e2e.http_server import serving_to_anybody
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.e2e.raw_server import environment_of
from tests.preloaded import preloaded_command

pytestmark = pytest.mark.xdist_group("asking")  # the tests share a server of each era

LEGACY, MODERN, AUTO = "legacy", "2026-07-28", "auto"
CONFIG = 'policy: {ask: ["demo.foo"]}\n'
YES = ElicitResult(action="accept", content={"answer": "once"})
NO = ElicitResult(action="decline")

# Prints a new number in each process that runs it: the same number twice is the same kernel.
MARKED = "import os\nmark = os.urandom(4).hex()\nprint(mark)\n"

Seat = Callable[..., Awaitable[Client]]


class Person:
    """Gives these answers one after the other, the last one again and again."""

    def __init__(self, *answers: ElicitResult, hesitates: float = 0.0) -> None:
        self.questions: list[str] = []
        self._answers = answers
        self._hesitates = hesitates

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params.message)
        await anyio.sleep(self._hesitates)
        return self._answers[min(len(self.questions), len(self._answers)) - 1]


class Chair:
    """Where the persons of several tests sit at one client, one after the other."""

    def __init__(self) -> None:
        self.person = Person(NO)

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return await self.person(context, params)


def connect(
    folder: Path, person: Person | Chair | None, *, mode: str = MODERN, config: str = "", preloaded: bool = True
) -> Client:
    file = folder / "onetool.yaml"
    file.write_text(with_demo(CONFIG + config))
    command, *program = preloaded_command("onetool") if preloaded else [sys.executable, "-m", "onetool"]
    arguments = [*program, "serve", "--config", str(file)]
    server = StdioServerParameters(command=command, args=arguments, env=environment_of(folder), cwd=folder)
    return Client(server, mode=mode, elicitation_callback=person)


@pytest.fixture(scope="module")
async def seat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Seat]:
    """Seat a person at the client of an era, whose server the tests share: `await seat(person, mode=LEGACY)`."""
    opened: dict[str, tuple[Chair, Client]] = {}
    async with AsyncExitStack() as clients:

        async def take(person: Person, *, mode: str = MODERN) -> Client:
            if mode not in opened:
                chair = Chair()
                client = connect(tmp_path_factory.mktemp("asking"), chair, mode=mode)
                opened[mode] = chair, await clients.enter_async_context(client)
            chair, client = opened[mode]
            chair.person = person
            return client

        yield take


@pytest.fixture(scope="module")
def http_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_to_anybody(tmp_path_factory.mktemp("http"), CONFIG) as served:
        yield served


def text_of(result: CallToolResult | InputRequiredResult) -> str:
    assert isinstance(result, CallToolResult)
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def begin(client: Client, command: str) -> InputRequiredResult:
    """Start a run that asks, and leave its question unanswered."""
    result = await client.session.call_tool("run", {"command": command}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def answer(
    client: Client,
    command: str,
    question: InputRequiredResult,
    *,
    state: str | None = None,
    word: ElicitResult = YES,
    tool: str = "run",
) -> CallToolResult | InputRequiredResult:
    return await client.session.call_tool(
        tool,
        {"command": command},
        input_responses=dict.fromkeys(question.input_requests or {}, word),
        request_state=state or question.request_state,
        allow_input_required=True,
    )


@pytest.mark.parametrize("mode", [LEGACY, MODERN, AUTO])
async def test_a_yes_lets_the_call_go_ahead(seat: Seat, mode: str) -> None:
    person = Person(YES)
    client = await seat(person, mode=mode)
    result = await client.call_tool("run", {"command": "demo.foo(text='hello')"})

    [question] = person.questions
    assert "demo.foo" in question
    assert "hello" in question
    assert not result.is_error
    assert "hello" in text_of(result)


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_progress_counts_on_after_a_question(seat: Seat, mode: str) -> None:
    client = await seat(Person(YES), mode=mode)
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    pause = "import time\ntime.sleep(0.2)\n"  # notifications in quick succession are left out
    command = f"demo.upper(text='a')\n{pause}demo.foo(text='b')\n{pause}demo.upper(text='c')"
    result = await client.call_tool("run", {"command": command}, progress_callback=hear)

    assert not result.is_error
    assert len(told) > 2
    assert told == [float(number) for number in range(1, len(told) + 1)]


@pytest.mark.parametrize("mode", [LEGACY, MODERN, AUTO])
async def test_a_no_is_an_error_that_the_code_can_catch(seat: Seat, mode: str) -> None:
    client = await seat(Person(NO), mode=mode)
    failed = await client.call_tool("run", {"command": "demo.foo(text='hello')"})
    caught = await client.call_tool(
        "run", {"command": "try:\n    demo.foo(text='a')\nexcept PermissionError:\n    print('refused')"}
    )

    assert failed.is_error
    assert "demo.foo" in text_of(failed)
    assert not caught.is_error
    assert "refused" in text_of(caught)


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_several_questions_of_one_run_are_asked_in_turn(seat: Seat, mode: str) -> None:
    person = Person(YES, NO, YES)
    command = (
        "def try_it(text):\n"
        "    try:\n        return demo.foo(text=text)\n"
        "    except PermissionError:\n        return 'no'\n"
        "[try_it('a') != 'no', try_it('b') != 'no', try_it('c') != 'no']"
    )

    client = await seat(person, mode=mode)
    result = await client.call_tool("run", {"command": command})

    assert len(person.questions) == 3
    assert text_of(result).replace("\n", "").replace(" ", "") == "[true,false,true]"


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_every_call_of_those_at_once_stands_in_a_question(seat: Seat, mode: str) -> None:
    person = Person(YES)
    command = "ot.parallel(*[lambda n=n: demo.foo(text=str(n)) for n in range(3)])"

    client = await seat(person, mode=mode)
    result = await client.call_tool("run", {"command": command})

    asked = "\n".join(person.questions)
    assert [asked.count(f'text = "{n}"') for n in range(3)] == [1, 1, 1]
    assert not result.is_error


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
@pytest.mark.parametrize(("word", "asked"), [("once", 2), ("run", 2), ("client", 1)])
async def test_a_person_chooses_how_far_a_yes_goes(tmp_path: Path, mode: str, word: str, asked: int) -> None:
    person = Person(ElicitResult(action="accept", content={"answer": word}))
    async with connect(tmp_path, person, mode=mode) as client:
        for _ in range(2):
            await client.call_tool("run", {"command": "demo.foo(text='a'), demo.foo(text='b')"})

    assert len(person.questions) == asked


TWO = """
got = []
for text in ("a", "b"):
    try:
        got.append(demo.foo(text=text))
    except PermissionError:
        got.append("no")
got
"""


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_one_question_lists_what_a_run_goes_on_with(seat: Seat, mode: str) -> None:
    person = Person(ElicitResult(action="accept", content={"answer": "some", "call_1": False, "call_2": True}))
    client = await seat(person, mode=mode)
    result = await client.call_tool("run", {"command": TWO})

    assert [question.splitlines()[0] for question in person.questions] == ["Allow these 2 calls?"]
    assert text_of(result) == "['no', b]"


LEFT = "demo.foo(text='a')\not.keep(name='left behind', value=1)"
SOME = ElicitResult(action="accept", content={"answer": "some", "call_1": True})


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
@pytest.mark.parametrize(("word", "got"), [(YES, "[a, b]"), (SOME, "[a, 'no']"), (NO, "['no', 'no']")])
async def test_one_answer_is_for_the_whole_run(http_address: str, mode: str, word: ElicitResult, got: str) -> None:
    person = Person(word)
    async with Client(http_address, mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool("run", {"command": TWO})

    assert len(person.questions) == 1
    assert text_of(result) == got


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_who_leaves_while_they_are_asked_has_agreed_to_nothing(http_address: str, mode: str) -> None:
    asked = anyio.Event()
    there: list[str] = []

    async def think(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        return YES

    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            async with Client(http_address, mode=mode, elicitation_callback=think) as client:
                await client.call_tool("run", {"command": LEFT})

        tasks.start_soon(ask)
        await asked.wait()
        tasks.cancel_scope.cancel()
    async with Client(http_address, mode=mode, elicitation_callback=Person(YES)) as client:
        there.append(text_of(await client.call_tool("run", {"command": "ot.kept()"})))

    assert "left behind" not in there[0]


async def test_the_form_has_a_box_for_each_call(tmp_path: Path) -> None:
    async with connect(tmp_path, Person(YES)) as client:
        question = await begin(client, TWO)
        [request] = (question.input_requests or {}).values()
        shown = request.model_dump(mode="json", by_alias=True)["params"]["requestedSchema"]["properties"]
        await answer(client, TWO, question)

    assert list(shown) == ["answer", "call_1", "call_2"]
    assert [each["const"] for each in shown["answer"]["oneOf"]] == ["once", "some", "run", "client", "no"]
    assert shown["call_2"] == {"title": '2. demo.foo, text = "b"', "type": "boolean"}


async def test_the_same_kernel_goes_on_and_nothing_is_done_twice(seat: Seat) -> None:
    command = f"{MARKED}demo.foo(text='x')\nprint(mark)"
    client = await seat(Person(YES))
    question = await begin(client, command)
    lines = text_of(await answer(client, command, question)).split()

    assert len(lines) >= 2
    assert lines[0] == lines[1]


async def test_the_clock_of_a_run_stands_still_while_somebody_thinks(tmp_path: Path) -> None:
    async with connect(tmp_path, Person(YES, hesitates=2.2), config="execution: {timeout: 2}") as client:
        result = await client.call_tool("run", {"command": "demo.foo(text='slow')"})

    assert "slow" in text_of(result)


async def test_other_runs_go_on_while_one_waits(seat: Seat) -> None:
    client = await seat(Person(YES))
    command = "demo.foo(text='later')"
    question = await begin(client, command)
    meanwhile = await client.call_tool("run", {"command": "6 * 7"})
    later = await answer(client, command, question)

    assert text_of(meanwhile) == "42"
    assert "later" in text_of(later)


async def test_a_state_that_was_used_is_refused_and_nothing_runs_again(seat: Seat) -> None:
    command = "demo.foo(text='once')"
    client = await seat(Person(YES))
    question = await begin(client, command)
    await answer(client, command, question)

    with pytest.raises(MCPError, match="no run waits for this answer"):
        await answer(client, command, question)


@pytest.mark.parametrize("state", ["v1.AAAA", "made up", "x" * 5000])
async def test_a_state_that_was_not_given_out_is_refused(seat: Seat, state: str) -> None:
    command = "demo.foo(text='never')"
    client = await seat(Person(YES))
    question = await begin(client, command)

    with pytest.raises(MCPError, match="Invalid or expired requestState"):
        await answer(client, command, question, state=state)
    assert "never" in text_of(await answer(client, command, question))


async def test_a_state_belongs_to_its_command(seat: Seat) -> None:
    client = await seat(Person(YES))
    question = await begin(client, "demo.foo(text='mine')")

    with pytest.raises(MCPError, match="Invalid or expired requestState"):
        await answer(client, "demo.foo(text='other')", question)
    assert "mine" in text_of(await answer(client, "demo.foo(text='mine')", question))


async def test_a_state_of_a_run_is_no_state_of_a_look(tmp_path: Path) -> None:
    command = "demo.foo(text='mine')"
    async with connect(tmp_path, Person(YES), config="offer: {look: true}") as client:
        question = await begin(client, command)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await answer(client, command, question, tool="look")
        assert "mine" in text_of(await answer(client, command, question))


async def test_an_answer_without_a_state_begins_no_run(seat: Seat) -> None:
    client = await seat(Person(YES))
    with pytest.raises(MCPError, match="no run waits for this answer"):
        await client.session.call_tool("run", {"command": "demo.foo()"}, input_responses={"question-1": YES})


async def test_the_end_of_the_server_ends_a_run_that_waits(tmp_path: Path) -> None:
    others = find_descendants(os.getpid())  # what other tests keep running
    async with connect(tmp_path, Person(YES), preloaded=False) as client:
        await begin(client, "demo.foo(text='never')")
        below = find_descendants(os.getpid()) - others
        below -= {process for other in others for process in find_descendants(other)}

    assert below
    wait_until_gone(below)


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_person_is_asked_over_http_too(http_address: str, mode: str) -> None:
    async with Client(http_address, mode=mode, elicitation_callback=Person(YES)) as client:
        result = await client.call_tool("run", {"command": "demo.foo(text='hello')"})

    assert "hello" in text_of(result)
