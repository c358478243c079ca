"""Tools of servers that others wrote, called from code: names, arguments, values and errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.app import App
from ot_kernel.values import Image, Resource
from tests.engine import open_engine
from tests.reference_servers.servers import reference_server, serve_everything

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("reference_servers")]

SERVERS = ("everything", "fetch", "filesystem", "git", "memory", "sqlite", "thinking", "time")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project: servers that ask for roots are told that it is theirs."""
    return tmp_path_factory.mktemp("work") / "project"


@pytest.fixture(scope="module")
async def app(work: Path) -> AsyncIterator[App]:
    """One engine for all of them: what it takes to start these servers is most of the time."""
    with serve_everything() as url, serve_everything("sse") as older:
        servers = {name: reference_server(name, work).settings() for name in SERVERS}
        servers["sqlite"]["json_text"] = True
        servers["over-http"] = {"url": url}
        servers["over-sse"] = {"url": older}
        config = yaml.safe_dump({"servers": servers})
        async with open_engine(work, config=config) as app:
            yield app


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("everything.get_sum(a=2, b=3)", "The sum of 2 and 3 is 5."),
        ("getattr(everything, 'get-sum')(2, 3)", "The sum of 2 and 3 is 5."),
        ("everything.get_sum(**{'a': 2, 'b': 3})", "The sum of 2 and 3 is 5."),
        ("over_http.echo(message='hello')", "Echo: hello"),
        ("over_sse.echo(message='hello')", "Echo: hello"),
        ("sorted(everything.get_structured_content('Chicago'))", "[conditions, humidity, temperature]"),
        ("filesystem.write_file(f'{WORK}/a.txt', 'hi')['content'][:12]", "Successfully"),
        ("filesystem.read_text_file(path=f'{WORK}/a.txt')", "{content: hi}"),
        ("filesystem.read_text_file(path=__import__('pathlib').Path(f'{WORK}/a.txt'))['content']", "hi"),
        ("memory.create_entities([{'name': 'Ada', 'entityType': 'person', 'observations': ()}])['entities'][0]['name']", "Ada"),
        ("[e['name'] for e in memory.read_graph()['entities']]", "[Ada]"),
        ("sqlite.create_table('CREATE TABLE t (a int)') and sqlite.write_query('INSERT INTO t VALUES (7)')", "[{'affected_rows': 1}]"),
        ("'Begin' in git.git_log(repo_path=f'{WORK}/repository')", "True"),
        ("'20:00' in str(time_.convert_time(source_timezone='UTC', time='20:00', target_timezone='UTC'))", "True"),
        ("thinking.sequentialthinking(thought='x', nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1)['thoughtNumber']", "1"),
    ],
)  # fmt: skip
async def test_a_call_gives_a_value(app: App, work: Path, code: str, expected: str) -> None:
    answer = await app.runner.run(f"WORK = {str(work)!r}\n{code}")

    assert (answer.text, answer.is_error) == (expected, False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "everything.get_sum(a='x', b=3)",
            "a must be float, not str. Expected: everything.get_sum(a: float, b: float)",
        ),
        ("everything.get_sum(a=1, b=2, c=3)", "c is not a parameter. Expected: everything.get_sum(a: float, b: float)"),
        ("filesystem.read_text_file('/etc/passwd')", "filesystem.read_text_file: Access denied"),
        ("git.git_show(repo_path='/nowhere', revision='x')", "git.git_show: "),
        ("fetch.fetch(url='http://127.0.0.1:1/')", "fetch.fetch: "),
        ("everything.get_some()", "Tools of everything: get_sum"),
    ],
)
async def test_a_failure_is_an_error_that_says_why(app: App, code: str, expected: str) -> None:
    answer = await app.runner.run(code)

    assert answer.is_error
    assert expected in answer.text


async def test_an_error_of_a_server_can_be_caught(app: App) -> None:
    code = "try:\n    filesystem.read_text_file('/etc/passwd')\nexcept ToolError as error:\n    'caught'"

    answer = await app.runner.run(code + "\n'caught'")

    assert answer.text == "caught"


async def test_a_picture_reaches_the_client_as_one(app: App) -> None:
    answer = await app.runner.run("everything.get_tiny_image()[1]")

    [picture] = answer.attachments
    assert isinstance(picture, Image)
    assert picture.mime_type == "image/png"
    assert picture.data.startswith(b"\x89PNG")


async def test_resources_come_as_resources(app: App) -> None:
    links: Any = await app.executor.call("everything.get_resource_links", {"count": 2})
    reference: Any = await app.executor.call(
        "everything.get_resource_reference", {"resourceType": "Text", "resourceId": 1}
    )

    assert [type(item) for item in links[1:]] == [Resource, Resource]
    [resource] = [item for item in reference if isinstance(item, Resource)]
    assert resource.text


async def test_every_tool_has_a_signature_that_compiles(app: App) -> None:
    proxied = [tool for tool in app.registry.definitions() if tool.source.startswith("proxy:")]

    assert len(proxied) > 60
    for tool in proxied:
        compile(f"def {tool.python_signature.partition('.')[2]}: ...", tool.name, "exec")
