"""`onetool update` and `onetool remove`, with the registries of the tests, and updates of every kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli_add import Shop, module
from tests.services.mcp_registry import PlayedMcpRegistry, entry_of, package_of
from tests.services.npm import PlayedNpm
from tests.services.played import play
from tests.services.pypi import PlayedPypi

NAME = "io.github.alice/weather"


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[Shop]:
    async with play(PlayedMcpRegistry()) as registry, play(PlayedNpm(())) as npm, play(PlayedPypi(())) as pypi:
        yield Shop(registry, npm, pypi)


@pytest.fixture
async def shop(services: Shop, tmp_path: Path) -> Shop:
    """A person who has version 1.2.0 of a server, with a secret."""
    services.furnish(tmp_path)
    services.npm.modules = (module("weather-mcp", "1.2.0", "look", "gone"),)
    (services.folder / "secrets.yaml").write_text("KEY: sesame-open-79\n")
    (services.folder / "secrets.yaml").chmod(0o600)
    secret = {"name": "API_KEY", "isSecret": True}
    services.offer(package_of("npm", "weather-mcp", "1.2.0", environmentVariables=[secret]), name=NAME)
    added = await services.add("weather", "--secret", "API_KEY=KEY")
    assert added.returncode == 0, added.stderr
    return services


def offer(shop: Shop, version: str, *tools: str, package: str = "weather-mcp", **more: Any) -> None:
    """Let both registries have another version."""
    shop.publish(module(package, version, *tools, **more))
    shop.registry.entries.append(entry_of(NAME, version, packages=[package_of("npm", package, version)]))


def version_in_use(shop: Shop) -> str:
    link = shop.folder / "state" / "brought_servers" / "weather" / "current"
    return link.resolve().name.partition("-")[0]


async def test_an_update_shows_what_changes_and_what_depends_on_it_and_keeps_the_old_one(shop: Shop) -> None:
    offer(shop, "1.10.0", "look", "file")
    settings = shop.config.read_text()
    settings += "aliases: {g: weather.gone}\nsnippets:\n  s: {body: weather.gone()}\n  t: {body: weather.look()}\n"
    shop.config.write_text(f"{settings}policy: {{ask: [weather.g*]}}\n")
    ran = await shop.run("run", "weather.gone()")

    shown = await shop.run("update", "weather")
    before = version_in_use(shop)
    updated = await shop.run("update", "--yes")
    known = (await shop.run("run", "[t['name'] for t in ot.tools('weather.', info='full')]")).stdout
    back = await shop.run("update", "--back", "weather")
    called = (await shop.run("run", "weather.look()")).stdout

    assert ran.returncode == 1  # a person is asked first, and there is none
    assert (before, shown.returncode) == ("1.2.0", 0)
    for line in (
        "file (new)",
        "not offered any more: gone",
        "depends on it: the snippet $s",
        "depends on it: the alias g (weather.gone)",
        "depends on it: policy.ask: weather.g*",
        "runs in the journal, which would be resumed differently",
        "its new tool file has a name of OneTool's",
        "1.2.0 stays in use",
    ):
        assert line in shown.stdout
    assert "$t" not in shown.stdout
    assert "1.10.0 is used now" in updated.stdout
    assert ("weather.file" in known, "weather.gone" in known) == (True, False)
    assert ("1.2.0 is used again" in back.stdout, version_in_use(shop)) == (True, "1.2.0")
    assert "argv" in called


async def test_a_new_version_is_tried_without_secrets(shop: Shop) -> None:
    server = (
        "if (process.env.API_KEY) require('fs').writeFileSync(process.env.HOME + '/seen', ''); else process.exit(4)"
    )
    offer(shop, "1.3.0", files={"dist/index.js": server})

    without = await shop.run("update", "--yes")

    assert (without.returncode, version_in_use(shop)) == (1, "1.2.0")
    assert "1.3.0 does not start, and 1.2.0 stays in use" in without.stderr
    assert "--with-secrets" in without.stderr


@pytest.mark.parametrize(
    ("version", "package", "words"),
    [
        ("9.0.0", "weather-mpc", "the registry has another package for it now, which is not taken"),
        ("1.2.0-rc.1", "weather-mcp", "1.2.0 is the latest version"),
        pytest.param("1.1.9", "weather-mcp", "1.2.0 is the latest version", marks=pytest.mark.long),
        pytest.param("1.2.0", "weather-mcp", "1.2.0 is the latest version", marks=pytest.mark.long),
    ],
)
async def test_neither_an_older_version_nor_another_package_is_taken(
    shop: Shop, version: str, package: str, words: str
) -> None:
    offer(shop, version, package=package)

    finished = await shop.run("update", "--yes")

    assert words in finished.stdout + finished.stderr
    assert version_in_use(shop) == "1.2.0"
    assert len([*(shop.folder / "state" / "brought_servers" / "weather").glob("[0-9]*")]) == 1


async def test_a_server_that_was_deleted_or_moved_stays_as_it_is(shop: Shop) -> None:
    offer(shop, "2.0.0", manifest={"bin": "dist/other.js"}, files={"dist/other.js": ""})
    moved = await shop.run("update", "--yes")
    shop.registry.statuses = {NAME: "deleted"}

    deleted = await shop.run("update", "--yes")

    assert "its program has another name now" in moved.stderr
    assert "it was deleted from the registry" in deleted.stderr
    assert version_in_use(shop) == "1.2.0"


async def test_a_server_is_removed_with_what_was_installed_of_it(shop: Shop) -> None:
    shop.config.write_text(f"{shop.config.read_text()}aliases: {{w: weather.look}}\n")

    asked, removed = await shop.run("remove", "weather"), await shop.run("remove", "weather", "--yes")
    again = await shop.run("remove", "weather", "--yes")

    assert (asked.returncode, removed.returncode, again.returncode) == (1, 0, 1)
    assert "depends on it: the alias w (weather.look)" in asked.stdout
    assert shop.servers() == {}
    assert shop.config.read_text().startswith("# mine\n")
    assert not (shop.folder / "state" / "brought_servers" / "weather").exists()
