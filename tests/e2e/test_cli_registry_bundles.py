"""`onetool add` and `onetool update` with bundles that an entry of the MCP registry names by address and digest."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli_add import NODE_SERVER, Shop, wheel
from tests.e2e.test_cli_bundles import bundle_of, manifest
from tests.proxied import PROGRAMS
from tests.services.mcp_registry import PlayedMcpRegistry, entry_of, package_of
from tests.services.npm import PlayedNpm
from tests.services.played import Reply, play
from tests.services.pypi import PlayedPypi

NAME = "io.github.alice/weather"
UV = {"type": "uv", "entry_point": "server.py", "mcp_config": {}}
PROJECT = '[project]\nname = "cloud"\nversion = "1"\ndependencies = ["sky-mcp"]\n'
FILES = {"pyproject.toml": PROJECT, "server.py": "from sky_mcp.server import main\nmain()\n"}


class Releases:
    """A shop whose registry has the bundles of a publisher."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.brought = shop.folder / "state" / "brought_servers" / "weather"

    def release(
        self,
        version: str = "1.0.0",
        path: str = "/alice/weather/v{}/weather.mcpb",
        about: Mapping[str, Any] | None = None,
        files: dict[str, str] | None = None,
        **more: Any,
    ) -> str:
        """Let the registry have a bundle of a version, and its entry; returns the digest."""
        described = {**manifest(**UV), "version": version, **(about or {})}
        content = bundle_of(described, FILES if files is None else files)
        digest = hashlib.sha256(content).hexdigest()
        self.shop.registry.files[path.format(version)] = content
        package = package_of("mcpb", f"{self.shop.registry.address}{path.format(version)}", "", fileSha256=digest)
        package = {key: value for key, value in {**package, **more}.items() if value is not None}
        self.shop.registry.entries.append(entry_of(NAME, version, packages=[package]))
        return digest

    def fetched(self) -> list[str]:
        return [each.path for each in self.shop.registry.requests if each.path.endswith(".mcpb")]

    def version_in_use(self) -> str:
        return (self.brought / "current").resolve().name.partition("-")[0]


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[Shop]:
    pypi = PlayedPypi((wheel("sky_mcp"),))
    async with play(PlayedMcpRegistry()) as registry, play(PlayedNpm(())) as npm, play(pypi):
        yield Shop(registry, npm, pypi)


@pytest.fixture
def releases(services: Shop, tmp_path: Path) -> Releases:
    services.furnish(tmp_path)
    services.registry.requests.clear()
    return Releases(services)


async def test_a_bundle_of_an_entry_is_fetched_checked_and_added(releases: Releases) -> None:
    variables = [{"name": "UNIT", "default": "C"}, {"name": "KEY", "value": "of the entry"}]
    config = {"env": {"KEY": "${user_config.key}"}}
    about = {"server": {**UV, "mcp_config": config}, "user_config": {"key": {"sensitive": True}}}
    releases.release(about=about, environmentVariables=variables)
    (releases.shop.folder / "secrets.yaml").write_text("MINE: sesame-open-82")
    (releases.shop.folder / "secrets.yaml").chmod(0o600)

    finished = await releases.shop.add("weather", "--secret", "key=MINE")
    called = await releases.shop.run("run", "weather.echo(text='blue')")

    assert finished.returncode == 0, finished.stderr
    assert "publisher: io.github.alice (as the registry has it)" in finished.stdout
    assert "author: Alice (as it says itself; nobody has proved it)" in finished.stdout
    assert releases.shop.servers()["weather"]["env"] == {"UNIT": "C", "KEY": "${MINE}"}
    assert called.stdout == "blue\n"


async def test_a_bundle_for_node_comes_the_same_way_also_after_a_redirect(releases: Releases) -> None:
    files = {"server/index.js": NODE_SERVER.replace("TOOLS", '["look"]')}
    releases.release(about=manifest(), files=files)
    listed, *_ = releases.shop.registry.entries
    at = releases.shop.registry.address
    releases.shop.registry.files["/elsewhere"] = releases.shop.registry.files["/alice/weather/v1.0.0/weather.mcpb"]
    found = releases.shop.registry.listed(listed)
    releases.shop.registry.faults = [Reply(200, found), Reply(302, "", {"location": f"{at}/elsewhere"})]

    finished = await releases.shop.add(NAME)

    assert finished.returncode == 0, finished.stderr
    assert (await releases.shop.run("run", "weather.look()")).returncode == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"fileSha256": None}, "it gives no SHA-256 of its bundle"),
        ({"fileSha256": ""}, "it gives no SHA-256 of its bundle"),
        ({"fileSha256": "0" * 63}, "it gives no SHA-256 of its bundle"),
        ({"identifier": "http://evil.example/weather.mcpb"}, "not an https address with a fixed host"),
        ({"identifier": "https://user:word@evil.example/weather.mcpb"}, "not an https address with a fixed host"),
        ({"identifier": "file:///etc/passwd"}, "not an https address with a fixed host"),
        ({"identifier": "weather.mcpb"}, "not an https address with a fixed host"),
        ({"registryBaseUrl": "https://evil.example"}, "it names another index"),
        ({"runtimeHint": "uvx"}, "it names a program to start it with"),
        ({"runtimeArguments": [{"type": "positional", "value": "x"}]}, "arguments for the program that starts it"),
        ({"packageArguments": [{"type": "positional", "value": "x"}]}, "arguments beside those in its bundle"),
        ({"environmentVariables": [{"name": "LD_PRELOAD", "value": "x"}]}, "it sets the variable LD_PRELOAD"),
        ({"version": "latest"}, "it does not name one version"),
        ({"transport": {"type": "sse", "url": "https://x.example"}}, "does not speak over stdin and stdout"),
    ],
)
async def test_an_entry_that_could_lead_elsewhere_is_refused_before_anything_is_fetched(
    releases: Releases, more: dict[str, Any], words: str
) -> None:
    releases.release(**more)

    finished = await releases.shop.add("weather")

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert (releases.shop.servers(), releases.fetched(), releases.brought.exists()) == ({}, [], False)


async def test_another_file_than_the_one_of_the_entry_is_refused(releases: Releases) -> None:
    releases.release(fileSha256="0" * 64)

    finished = await releases.shop.add("weather")

    assert "and not the one that was given" in finished.stderr
    assert (finished.returncode, releases.shop.servers(), releases.brought.exists()) == (1, {}, False)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Reply(302, "", {"location": "http://localhost:1/weather.mcpb"}), "its address is not https"),
        (Reply(302, "", {"location": "https://user:word@evil.example/x"}), "its address is not https"),
        (Reply(302, "", {"location": "file:///etc/passwd"}), "cannot be fetched"),
        (Reply(302, "", {"location": "/alice/weather/v1.0.0/weather.mcpb"}), "redirects too often"),
        (Reply(404, "\x1b[2J"), "it answered with status 404"),
        (Reply(200, b"x", {"content-encoding": "gzip"}), "its answer is compressed"),
        (Reply(200, b"", {"content-length": "200000001"}), "more than 200,000,000 bytes"),
        (Reply(200, b"x" * 1000), "and not the one that was given"),
    ],
)
async def test_a_host_of_bundles_that_misbehaves_is_refused(releases: Releases, fault: Reply, words: str) -> None:
    releases.release()
    found = Reply(200, releases.shop.registry.listed(releases.shop.registry.entries[0]))
    releases.shop.registry.faults = [found, *[fault] * 5]

    finished = await releases.shop.add(NAME)

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert (releases.shop.servers(), "\x1b" in finished.stderr, releases.brought.exists()) == ({}, False, False)


async def test_of_several_bundles_one_is_chosen_by_its_digest(releases: Releases) -> None:
    digests = [releases.release(path=path) for path in ("/v{}/linux.mcpb", "/v{}/darwin.mcpb")]
    packages = [entry["packages"][0] for entry in releases.shop.registry.entries]
    packages[1]["fileSha256"] = digests[1] = "1" * 64
    releases.shop.registry.entries = [entry_of(NAME, packages=packages)]

    several, chosen = await releases.shop.add(NAME), await releases.shop.add(NAME, "--sha256", digests[0])

    assert all(f"--sha256 {digest} (http://" in several.stderr for digest in digests)
    assert chosen.returncode == 0, chosen.stderr


async def test_an_update_takes_a_newer_bundle_of_the_same_publisher_and_place_only(releases: Releases) -> None:
    releases.release("1.2.0")
    added = await releases.shop.add("weather")
    releases.shop.registry.requests.clear()

    same, fetched = await releases.shop.run("update"), releases.fetched()
    releases.release("1.1.9")
    older = await releases.shop.run("update", "--yes")
    releases.release("1.3.0", about={"version": "1.2.0"})
    called_newer = await releases.shop.run("update", "--yes")
    releases.release("1.4.0", path="/mallory/weather/v{}/weather.mcpb")
    elsewhere = await releases.shop.run("update", "--yes")
    releases.release("1.5.0", about={"name": "other"})
    other = await releases.shop.run("update", "--yes")
    releases.release("1.6.0", fileSha256="0" * 64)
    wrong = await releases.shop.run("update", "--yes")
    releases.release("1.7.0", fileSha256=None)
    missing = await releases.shop.run("update", "--yes")
    before, kept = releases.version_in_use(), [*releases.brought.glob("[0-9]*")]
    releases.release("1.10.0")
    updated = await releases.shop.run("update", "--yes")
    after = releases.version_in_use()
    called = await releases.shop.run("run", "weather.echo(text='blue')")
    back, again = await releases.shop.run("update", "--back", "weather"), await releases.shop.run("update", "--yes")
    removed = await releases.shop.run("remove", "weather", "--yes")

    assert added.returncode == 0, added.stderr
    assert ("1.2.0 is the latest version" in same.stdout, fetched) == (True, [])
    assert "1.2.0 is the latest version" in older.stdout
    assert "1.2.0 is the latest version" in called_newer.stdout
    assert "the registry has another package for it now, which is not taken" in elsewhere.stderr
    assert "is another bundle, other, which is not taken" in other.stderr
    assert "and not the one that was given" in wrong.stderr
    assert "it gives no SHA-256 of its bundle" in missing.stderr
    assert (before, len(kept)) == ("1.2.0", 1)
    assert ("1.10.0 is used now" in updated.stdout, after, called.stdout) == (True, "1.10.0", "blue\n")
    assert "1.2.0 is used again" in back.stdout
    assert "1.10.0 is used now" in again.stdout, again.stderr
    assert (removed.returncode, releases.shop.servers(), releases.brought.exists()) == (0, {}, False)


async def test_a_new_bundle_is_tried_with_its_own_libraries_and_without_secrets(releases: Releases) -> None:
    """Each version imports a module that only it has, and the second one dies where it is given a secret."""
    env = {"PYTHONPATH": "${__dirname}/server/lib", "API_KEY": "${user_config.key}"}
    config = {"command": "python", "args": ["${__dirname}/server/main.py", "${__dirname}/words"], "env": env}
    server = {"type": "python", "entry_point": "server/main.py", "mcp_config": config}
    about = {"server": server, "user_config": {"key": {"sensitive": True}}}
    library = (PROGRAMS / "plain_server.py").read_text()
    (releases.shop.folder / "secrets.yaml").write_text("KEY: sesame-open-83")
    (releases.shop.folder / "secrets.yaml").chmod(0o600)

    def files(own: str, check: str) -> dict[str, str]:
        program = f"import os, sys\nassert open(sys.argv[1]).read() == {own!r}\n{check}\nfrom {own} import Server\n"
        return {"server/main.py": f"{program}Server().serve()\n", f"server/lib/{own}.py": library, "words": own}

    releases.release("1.0.0", about=about, files=files("first", "assert os.environ['API_KEY']"))
    added = await releases.shop.add("weather", "--secret", "key=KEY")
    releases.release("1.1.0", about=about, files=files("second", "assert 'API_KEY' not in os.environ"))
    updated = await releases.shop.run("update", "--yes")

    assert added.returncode == 0, added.stderr
    assert updated.returncode == 0, updated.stderr
    assert releases.version_in_use() == "1.1.0"
