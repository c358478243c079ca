"""Long results on their way through the engine: to AI clients, to extensions, and from code that lies about them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import yaml

from ot.app import App
from tests.engine import open_engine
from tests.engines import FORGE

EXTENSION = '''
import ot_sdk

def total(handle: str) -> int:
    """Add up the numbers of a stored result."""
    return sum(ot_sdk.call("ot.load", handle=handle))
'''


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine") / "e"
    async with open_engine(folder, config="results: {inline_limit: 2000}", extensions={"adder": EXTENSION}) as app:
        yield app


def handle_in(text: str) -> str:
    found = re.match(r"\{handle: (\w+), ", text)
    assert found, text
    return found[1]


async def test_an_ai_client_gets_a_handle_and_reads_on_with_it(app: App) -> None:
    answer = await app.executor.execute("demo.numbers", {"count": 9000})
    handle = handle_in(answer)

    assert len(answer.encode()) <= 4096
    page = yaml.safe_load(await app.executor.execute("ot.result", {"handle": handle, "offset": 8999}))
    assert page["lines"] == ["- 8998", "- 8999"]
    assert handle_in(await app.executor.execute("ot.load", {"handle": handle})) != handle


async def test_an_extension_can_load_what_is_stored(app: App) -> None:
    handle = handle_in(await app.executor.execute("demo.numbers", {"count": 9000}))

    assert (await app.runner.run(f"adder.total(handle='{handle}')")).text == str(sum(range(9000)))


async def test_a_value_only_a_little_too_long_is_stored_too(app: App) -> None:
    answer = (await app.runner.run("['some words'] * 300")).text

    loaded = await app.runner.run(f"ot.load(handle='{handle_in(answer)}') == ['some words'] * 300")
    assert loaded.text == "True"


async def test_what_is_stored_and_what_is_printed_each_have_a_handle(app: App) -> None:
    answer = (await app.runner.run("print('p' * 5000)\n'v' * 50_000")).text

    printed, value = re.findall(r'ot\.result\(handle="(\w+)"', answer)
    assert printed != value
    assert (await app.runner.run(f"ot.load(handle='{printed}') == 'p' * 5000 + '\\n'")).text == "True"


async def test_a_failed_run_keeps_what_it_printed(app: App) -> None:
    answer = await app.runner.run("for n in range(2000): print('step', n)\n1 / 0")

    assert answer.is_error
    assert "step 1999\nZeroDivisionError: division by zero" in answer.text
    assert re.search(r'2,000 lines were printed.*handle="\w+"', answer.text)


LIES = {
    "a link": "os.symlink('/etc/passwd', name)",
    "a link to a device": "os.symlink('/dev/zero', name)",
    "a pipe": "os.mkfifo(name)",
    "a folder": "os.mkdir(name)",
    "nothing": "pass",
    "elsewhere": "name = '.message-/../../../../etc/passwd'",
    "no message": "name = 'other'; open(name, 'w').write('x')",
}


@pytest.mark.parametrize("lie", LIES)
async def test_code_cannot_have_anything_stored_but_a_file_of_its_own(app: App, lie: str) -> None:
    code = f"""{FORGE}
import json, time
name = '.message-evil'
try:
    {LIES[lie]}
except OSError:
    pass  # it may not even do that
message = json.dumps({{"op": "large", "name": name, "kind": "text", "head": "x", "total": 1}}).encode()
forge(message)
time.sleep(60)
"""
    answer = await app.runner.run(code)

    assert answer.is_error
    assert answer.text.startswith("The run was stopped: ")
    assert "root:" not in answer.text


@pytest.mark.parametrize("field", ["kind", "head", "total", "name"])
async def test_a_message_that_makes_no_sense_ends_the_run(app: App, field: str) -> None:
    code = f"""{FORGE}
import json, time
message = {{"op": "large", "name": ".message-1", "kind": "text", "head": "x", "total": 1}}
message[{field!r}] = {{"$": "nonsense"}}
data = json.dumps(message).encode()
forge(data)
time.sleep(60)
"""
    answer = await app.runner.run(code)

    assert answer.is_error
    assert "The run was stopped: " in answer.text


async def test_a_lie_about_the_kind_of_a_file_hurts_only_who_reads_it(app: App) -> None:
    code = (
        FORGE
        + """
import json, time
open('.message-lie', 'wb').write(b'\\xff[[[not JSON' * 1000)
message = {"op": "large", "name": ".message-lie", "kind": "value", "head": ["x"], "total": 10}
data = json.dumps(message).encode()
forge(data)
time.sleep(60)
"""
    )
    handle = handle_in((await app.runner.run(code)).text)

    for question in (f"ot.result(handle='{handle}')", f"ot.load(handle='{handle}')"):
        answer = await app.runner.run(question)
        assert answer.is_error
        assert "ValueError" in answer.text
    assert (await app.runner.run("1 + 1")).text == "2"
