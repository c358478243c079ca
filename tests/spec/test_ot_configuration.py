"""ot.config, ot.notify, ot.reload and ot.version as they are specified, through the real server."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.demo_pack import with_demo
from tests.e2e.raw_server import RawServer, start_raw_server

pytestmark = pytest.mark.xdist_group("ot-configuration")

CONFIG = """
aliases: {ws: brave.web_search, alias_f: demo.foo}
snippets:
  foon: {description: "Get foo() for n items", body: "[demo.foo() for _ in range({{ n }})]", params: {n: {default: 2}}}
  barn: {description: "Get bar() for n items", body: demo.bar()}
servers:
  proxy_package_version: {command: "no-such-program", env: {TOKEN: "${PACKAGE_TOKEN}"}, enabled: false}
topics:
  - {pattern: "notes*", file: notes/notes.yaml}
  - {pattern: "*", file: rest.yaml}
"""
SECRETS = "PACKAGE_TOKEN: s3cret-of-the-package\n"


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


def configure(folder: Path, config: str) -> None:
    (folder / "onetool.yaml").write_text(with_demo(config))


def write_secrets(folder: Path, text: str) -> None:
    secrets = folder / "secrets.yaml"
    secrets.write_text(text)
    secrets.chmod(0o600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[RawServer]:
    write_secrets(folder, SECRETS)
    with start_raw_server(folder, config=CONFIG) as server:
        yield server


@pytest.fixture
def server(started: RawServer, folder: Path) -> Iterator[RawServer]:
    """A server with the configuration above; what a test configured is gone after it."""
    yield started
    write_secrets(folder, SECRETS)
    configure(folder, CONFIG)
    assert text_of(started.run("ot.reload()")) == "OK: Configuration reloaded"


@pytest.mark.scenario("ot/configuration-summary/show-config")
def test_the_configuration_is_shown_by_its_names(server: RawServer) -> None:
    text = text_of(server.run("ot.config()"))

    assert yaml.safe_load(text) == {
        "aliases": {"ws": "brave.web_search", "alias_f": "demo.foo"},
        "snippets": {
            "foon": {"description": "Get foo() for n items"},
            "barn": {"description": "Get bar() for n items"},
        },
        "servers": ["proxy_package_version"],
    }
    assert "aliases: {ws: brave.web_search, alias_f: demo.foo}\n" in text
    assert text.endswith("servers: [proxy_package_version]")
    assert "s3cret" not in text


@pytest.mark.scenario("ot/configuration-summary/empty-config")
def test_without_configuration_everything_is_empty(tmp_path: Path) -> None:
    with start_raw_server(tmp_path) as server:
        assert text_of(server.run("ot.config()")) == "{aliases: {}, snippets: {}, servers: []}"


@pytest.mark.scenario("ot/version/get-version")
def test_the_version_is_that_of_the_package(server: RawServer) -> None:
    answer = text_of(server.run("ot.version()"))

    assert answer == version("onetool-run")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", answer)


@pytest.mark.scenario("ot/notify-message/send-notification")
def test_a_message_is_appended_to_the_file_of_its_topic_as_a_document(server: RawServer, folder: Path) -> None:
    hostile = "--- not a document\n...\n- [: *&"
    first = text_of(server.run('ot.notify(topic="notes", message="Remember to review PR #123")'))
    server.run(f"ot.notify(topic='notes:work', message={hostile!r})")
    server.run("ot.notify(topic='elsewhere', message='yes')")

    file = folder / "notes" / "notes.yaml"
    documents = list(yaml.safe_load_all(file.read_text()))
    assert first == f"OK: appended to {file}"
    assert [(each["topic"], each["message"]) for each in documents] == [
        ("notes", "Remember to review PR #123"),
        ("notes:work", hostile),
    ]
    assert [each["message"] for each in yaml.safe_load_all((folder / "rest.yaml").read_text())] == ["yes"]


@pytest.mark.scenario("ot/notify-message/no-matching-topic")
def test_a_topic_that_nobody_configured_is_skipped(server: RawServer, folder: Path) -> None:
    configure(folder, "topics: [{pattern: 'notes*', file: skipped.yaml}]")
    server.run("ot.reload()")

    assert text_of(server.run('ot.notify(topic="unknown:topic", message="test")')) == "SKIP: no matching topic"
    assert not (folder / "skipped.yaml").exists()


def test_several_servers_append_to_one_file_at_once(tmp_path: Path) -> None:
    config = f"topics: [{{pattern: '*', file: {tmp_path / 'all.yaml'}}}]"
    folders = [tmp_path / name for name in ("first", "second")]

    def write(folder: Path) -> None:
        folder.mkdir()
        with start_raw_server(folder, config=config) as server:
            text = f"'{folder.name}\\n' + 'x' * 5000"
            server.run(f"for n in range(50): ot.notify(topic='t', message={text})")

    threads = [threading.Thread(target=write, args=[folder]) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    written = [each["message"].partition("\n")[0] for each in yaml.safe_load_all((tmp_path / "all.yaml").read_text())]
    assert sorted(written) == ["first"] * 50 + ["second"] * 50


@pytest.mark.scenario("ot/reload-configuration/reload-config")
def test_a_changed_configuration_is_in_force_after_a_reload(server: RawServer, folder: Path) -> None:
    configure(folder, "aliases: {loud: demo.upper}\npolicy: {deny: [demo.bar]}\nresults: {inline_limit: 100}")
    before = server.run("loud(text='a')")
    answer = text_of(server.run("ot.reload()"))

    assert before["isError"]
    assert answer == "OK: Configuration reloaded"
    assert text_of(server.run("loud(text='a')")) == "A"
    assert yaml.safe_load(text_of(server.run("ot.config()"))) == {
        "aliases": {"loud": "demo.upper"},
        "snippets": {},
        "servers": [],
    }
    assert "policy.deny" in text_of(server.run("demo.bar()"))
    assert "handle: " in text_of(server.run("'x' * 1000"))


def test_a_broken_configuration_leaves_the_old_one_in_force_and_says_what_to_do(
    server: RawServer, folder: Path
) -> None:
    configure(folder, "aliases: {loud: demo.upper}\nexecution: {timout: 5}")
    result = server.run("ot.reload()")

    assert result["isError"]
    text = text_of(result)
    assert str(folder / "onetool.yaml") in text
    assert "execution.timout: unknown key" in text
    assert '"timeout"' in text
    assert text_of(server.run("alias_f()")) == "foo"
    assert server.run("loud(text='a')")["isError"]


def test_a_run_in_flight_goes_on_through_a_reload(server: RawServer, folder: Path) -> None:
    waiting = server.start_run("x = alias_f(text='begun')\ndemo.sleep(seconds=1)\nx, demo.upper(text='and ended')")
    configure(folder, "execution: {timeout: 0.5}")
    server.run("ot.reload()")
    result = server.wait_for_answer(waiting)["result"]

    assert text_of(result) == "[begun, AND ENDED]"
    assert "0.5 s" in text_of(server.run("while True: pass"))


def test_what_waits_for_the_next_start_is_named(server: RawServer, folder: Path) -> None:
    configure(folder, "")
    server.run("ot.reload()")
    configure(folder, "execution: {memory: 512m, warm: 1}\nlog: {level: debug}")
    told = text_of(server.run("ot.reload()"))
    shown = text_of(server.run("ot.health()['next_start']"))
    configure(folder, "")
    again = text_of(server.run("ot.reload()"))

    assert told == (
        "OK: Configuration reloaded\nTakes effect at the next start of the server: execution.memory, log.level"
    )
    assert shown == "[execution.memory, log.level]"
    assert again == "OK: Configuration reloaded"


def test_secrets_that_came_with_a_reload_are_hidden_and_old_ones_stay_so(server: RawServer, folder: Path) -> None:
    write_secrets(folder, "PACKAGE_TOKEN: a-new-s3cret\n")
    server.run("ot.reload()")
    text = text_of(server.run("demo.echo(value=['s3cret-of-the-' + 'package', 'a-new-' + 's3cret'])"))

    assert text == "['***', '***']"
