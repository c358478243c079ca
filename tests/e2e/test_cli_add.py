"""`onetool add` with a registry, an npm registry and a Python index of the tests, real npm and uv, and real servers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
import yaml

from tests.availability import require_program
from tests.e2e.raw_server import environment_of
from tests.models.terminal import in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.proxied import PROGRAMS
from tests.services.mcp_registry import PlayedMcpRegistry, entry_of, package_of
from tests.services.npm import Module, PlayedNpm
from tests.services.played import Reply, play
from tests.services.pypi import PlayedPypi, Wheel

Finished = subprocess.CompletedProcess[str]
NODE_SERVER = """#!/usr/bin/env node
const fs = require('fs'), readline = require('readline');
const tool = name => ({name, description: 'The tool ' + name, inputSchema: {type: 'object', properties: {}}});
const tried = path => { try { fs.readFileSync(path); return true } catch { return false } };
const say = () => JSON.stringify({env: process.env, argv: process.argv.slice(2), home: tried(process.env.HOME + '/note')});
const answer = {
  'initialize': () => ({protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'n', version: '1'}}),
  'tools/list': () => ({tools: TOOLS.map(tool)}),
  'tools/call': () => ({content: [{type: 'text', text: say()}]}),
};
readline.createInterface({input: process.stdin}).on('line', line => {
  const {id, method} = JSON.parse(line);
  if (id === undefined) return;
  const found = answer[method];
  const result = found ? {result: found()} : {error: {code: -32601, message: 'no ' + method}};
  console.log(JSON.stringify({jsonrpc: '2.0', id, ...result}));
});
"""


def module(name: str, version: str = "1.0.0", *tools: str, **more: Any) -> Module:
    server = NODE_SERVER.replace("TOOLS", json.dumps(tools or ["look"]))
    manifest = {"bin": {name.rpartition("/")[2]: "dist/index.js"}, **more.pop("manifest", {})}
    return Module(name, version, more=manifest, files={"dist/index.js": server, **more.pop("files", {})}, **more)


def wheel(name: str, version: str = "1.0.0", **more: Any) -> Wheel:
    server = (PROGRAMS / "plain_server.py").read_text() + "\n\ndef main():\n    Server().serve()\n"
    return Wheel(name, version, files={f"{name}/server.py": server, **more}, programs=f"{name} = {name}.server:main")


class Shop:
    """The three services, a home, and `onetool` with them."""

    def __init__(self, registry: PlayedMcpRegistry, npm: PlayedNpm, pypi: PlayedPypi) -> None:
        self.registry, self.npm, self.pypi = registry, npm, pypi

    def furnish(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.folder = self.home / ".onetool"
        self.folder.mkdir(parents=True)
        self.project.mkdir()
        (self.home / "note").write_text("of the person")
        self.config = self.folder / "onetool.yaml"
        self.config.write_text(f"# mine\nregistry: {{url: {self.registry.address}}}\n")
        self.registry.entries, self.registry.statuses, self.registry.faults, self.registry.files = [], {}, [], {}

    @property
    def environ(self) -> dict[str, str]:
        return environment_of(self.home) | {
            "npm_config_registry": f"{self.npm.address}/",
            "npm_config_cache": str(self.home / "npm"),
            "UV_DEFAULT_INDEX": self.pypi.index,
            "UV_CACHE_DIR": str(self.home / "uv"),
            "UV_PYTHON_DOWNLOADS": "never",
        }

    async def run(self, *arguments: str) -> Finished:
        return await anyio.to_thread.run_sync(lambda: run_preloaded(*arguments, cwd=self.project, env=self.environ))

    async def add(self, *arguments: str) -> Finished:
        return await self.run("add", "--yes", *arguments)

    def publish(self, *modules: Module) -> None:
        """Let the npm registry have these beside what it has."""
        self.npm.modules = (*self.npm.modules, *modules)

    def servers(self) -> dict[str, Any]:
        return dict(yaml.safe_load(self.config.read_text()).get("servers") or {})

    def offer(self, *packages: dict[str, Any], name: str = "io.github.alice/weather", **more: Any) -> str:
        self.registry.entries.append(entry_of(name, packages=list(packages), **more))
        return name


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[Shop]:
    require_program("npm")
    modules = (
        module("weather-mcp", "1.0.0", needs={"helper": "^1.0.0"}, manifest={"scripts": {"postinstall": "touch ran"}}),
        Module("helper", "1.0.0"),
        module("@alice/two", manifest={"bin": {"a": "dist/index.js", "b": "dist/index.js"}}),
        module("outside-mcp", manifest={"bin": "../../../../note"}),
        module("silent-mcp", files={"dist/index.js": "process.exit(3)"}),
        module("git-mcp", needs={"evil": "git+https://127.0.0.1:1/evil.git"}),
    )
    wheels = (wheel("sky_mcp"), wheel("trap_mcp", **{"trap.pth": "import os; os.system('touch ran')"}))
    async with play(PlayedMcpRegistry()) as registry, play(PlayedNpm(modules)) as npm, play(PlayedPypi(wheels)) as pypi:
        yield Shop(registry, npm, pypi)


@pytest.fixture
def shop(services: Shop, tmp_path: Path) -> Shop:
    services.furnish(tmp_path)
    return services


async def test_an_npm_package_is_installed_locked_confined_tried_and_written_down(shop: Shop) -> None:
    secret = {"name": "API_KEY", "isSecret": True, "isRequired": True, "description": "Key of the weather"}
    unit = {"type": "named", "name": "--unit", "value": "${HOME} {unit}", "variables": {"unit": {"default": "C"}}}
    shop.offer(package_of("npm", "weather-mcp", environmentVariables=[secret], packageArguments=[unit]))
    (shop.folder / "secrets.yaml").write_text("MINE: sesame-open-77\nAPI_KEY: of-another-server\n")
    (shop.folder / "secrets.yaml").chmod(0o600)

    finished = await shop.add("weather", "--secret", "API_KEY=MINE")
    called = await shop.run("run", "import json\njson.loads(weather.look())")
    [place] = (shop.folder / "state" / "brought_servers" / "weather").glob("1.0.0-*")

    assert finished.returncode == 0, finished.stderr
    assert "weather-mcp 1.0.0" in finished.stdout
    assert "publisher: io.github.alice" in finished.stdout
    assert "weather started, and offers 1 tool: look" in finished.stdout
    link = shop.folder / "state" / "brought_servers" / "weather" / "current"
    assert shop.servers()["weather"] == {
        "command": "node",
        "args": [f"{link}/node_modules/weather-mcp/dist/index.js", "--unit=$${HOME} C"],
        "env": {"API_KEY": "${MINE}"},
        "confine": {},
    }
    answer = yaml.safe_load(called.stdout)
    assert (answer["env"]["API_KEY"], answer["argv"], answer["home"]) == ("***", ["--unit=${HOME} C"], False)
    assert "integrity" in (place / "package-lock.json").read_text()
    assert not [*place.rglob("ran")]
    assert shop.config.read_text().startswith("# mine\n")


async def test_a_python_package_is_installed_from_wheels_and_nothing_of_it_runs_outside(shop: Shop) -> None:
    shop.offer(package_of("pypi", "trap-mcp"), name="io.github.bob/sky")

    finished = await shop.add("io.github.bob/sky", "--as", "heaven")
    called = await shop.run("run", "heaven.echo(text='blue')")

    assert finished.returncode == 0, finished.stderr
    assert called.stdout == "blue\n"
    assert shop.servers()["heaven"]["command"].endswith("brought_servers/heaven/current/venv/bin/trap_mcp")
    assert not [file for folder in (shop.home, shop.project) for file in folder.rglob("ran")]


@pytest.mark.parametrize(
    ("arguments", "server"),
    [
        (["--as", "w", "npx", "-y", "weather-mcp@1.0.0", "--flag", "$(touch x)", "${HOME}"], "w"),
        (["uvx", "sky-mcp"], "sky-mcp"),
    ],
)
async def test_a_command_as_other_clients_have_it_is_installed(shop: Shop, arguments: list[str], server: str) -> None:
    finished = await shop.add(*arguments)

    assert finished.returncode == 0, finished.stderr
    assert [*shop.servers()] == [server]
    assert shop.servers()["w"]["args"][1:] == ["--flag", "$(touch x)", "$${HOME}"] if server == "w" else True


async def test_secrets_are_typed_unseen_and_named_apart_from_those_of_others(shop: Shop) -> None:
    secret = {"name": "API_KEY", "isSecret": True, "isRequired": True}
    shop.offer(package_of("npm", "weather-mcp", environmentVariables=[secret]))
    (shop.folder / "secrets.yaml").write_text("WEATHER_API_KEY: of-another-server\n")
    (shop.folder / "secrets.yaml").chmod(0o600)

    def type_it() -> tuple[int, str]:
        command = preloaded_command("onetool", "add", "weather")
        with in_terminal(command, cwd=shop.project, env=shop.environ) as terminal:
            terminal.wait_for(lambda text: "Add weather? [y/N]" in text)
            terminal.type("y\n")
            terminal.wait_for(lambda text: "with blanks between (none):" in text)
            terminal.type("api.example.com b.example.com\n")
            terminal.wait_for(lambda text: "(not shown)" in text)
            terminal.type("sesame-open-78\n")
            return terminal.wait_for_exit(), terminal.screen.text

    status, text = await anyio.to_thread.run_sync(type_it)

    assert (status, "sesame" in text) == (0, False)
    assert shop.servers()["weather"]["env"] == {"API_KEY": "${WEATHER_API_KEY_2}"}
    assert shop.servers()["weather"]["confine"] == {"hosts": ["api.example.com", "b.example.com"]}
    kept = yaml.safe_load((shop.folder / "secrets.yaml").read_text())
    assert kept == {"WEATHER_API_KEY": "of-another-server", "WEATHER_API_KEY_2": "sesame-open-78"}


NPM = ("npm", "weather-mcp")
VALUE = {"type": "positional", "value": "x"}


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (package_of("oci", "docker.io/a/b"), "a container image is not started"),
        (package_of("nuget", "A"), "cannot be installed"),
        (package_of(*NPM, registryBaseUrl="https://npm.evil.example"), "it names another index"),
        (package_of(*NPM, runtimeHint="bash"), "it names a program to start it with"),
        (package_of(*NPM, runtimeHint="npx", runtimeArguments=[VALUE]), "arguments for the program that starts it"),
        (package_of("npm", "weather-mcp --registry=x"), "its package has no valid name"),
        (package_of("npm", "../evil"), "its package has no valid name"),
        (package_of("pypi", "sky @ https://x"), "its package has no valid name"),
        (package_of("pypi", "sky-mcp", ">=1"), "it does not name one version"),
        (package_of(*NPM, transport={"type": "sse", "url": "http://x"}), "does not speak over stdin"),
        *(
            (package_of(*NPM, environmentVariables=[{"name": name, "value": "x"}]), f"sets the variable {name}")
            for name in ("LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "PATH", "Path", "https_proxy", "ONETOOL_CONFIG")
        ),
        (package_of(*NPM, environmentVariables=[{"name": "A=B", "value": "x"}]), "variable without a valid name"),
        (package_of(*NPM, packageArguments=[{"type": "named", "name": "-x; rm"}]), "not the name of an option"),
        (package_of(*NPM, packageArguments=[{"type": "positional", "value": "a\x1b[2J"}]), "cannot be shown"),
    ],
)
async def test_what_would_steer_the_machine_is_refused(shop: Shop, package: dict[str, Any], words: str) -> None:
    shop.offer(package)

    finished = await shop.add("weather")

    assert finished.returncode == 1
    assert words in finished.stderr
    assert "\x1b" not in finished.stdout + finished.stderr
    assert shop.servers() == {}
    assert not (shop.folder / "state" / "brought_servers").exists()


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (package_of("npm", "outside-mcp"), "names a program that is not in it"),
        (package_of("npm", "git-mcp"), "it cannot be installed"),
        (package_of("npm", "silent-mcp"), "weather was not added; it had no network, which --host HOST opens"),
        *(
            pytest.param(package, words, marks=pytest.mark.long)
            for package, words in (
                (package_of("npm", "@alice/two"), "has no program of its own name: a, b"),
                (package_of("npm", "absent-mcp"), "it cannot be installed"),
                (package_of("npm", "weather-mcp", "1.0.1"), "it cannot be installed"),
                (package_of("pypi", "absent"), "it cannot be installed"),
            )
        ),
    ],
)
async def test_what_cannot_be_installed_or_started_leaves_nothing(
    shop: Shop, package: dict[str, Any], words: str
) -> None:
    shop.offer(package)

    finished = await shop.add("weather")

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert shop.servers() == {}
    assert not [*(shop.folder / "state" / "brought_servers").glob("*/*")]


async def test_of_several_that_fit_none_is_taken(shop: Shop) -> None:
    shop.offer(package_of(*NPM), name="io.github.alice/weather")
    shop.offer(package_of(*NPM), name="io.github.mallory/weather-pro")
    shop.offer(package_of(*NPM), package_of("pypi", "sky-mcp"), name="io.github.carol/sky")

    several, ways = await shop.add("weather"), await shop.add("io.github.carol/sky")
    chosen = await shop.add("io.github.carol/sky", "--kind", "pypi")

    assert "2 servers fit 'weather', and none was chosen" in several.stderr
    assert "--kind npm (weather-mcp), --kind pypi (sky-mcp)" in ways.stderr
    assert ([*shop.servers()], chosen.returncode) == (["sky"], 0)


@pytest.mark.parametrize("name", ["ot", "proj", "file", "brave", "my_server"])
async def test_names_of_ours_and_of_the_person_are_not_taken(shop: Shop, name: str) -> None:
    shop.config.write_text(f"{shop.config.read_text()}servers:\n  my-server: {{command: x}}\n")
    shop.offer(package_of(*NPM), name=f"io.github.alice/{name}")

    finished = await shop.add(name)

    assert finished.returncode == 1
    assert "choose another one with --as" in finished.stderr


async def test_a_name_like_one_of_ours_is_pointed_out(shop: Shop) -> None:
    shop.offer(package_of(*NPM), name="io.github.mallory/brawe")

    finished = await shop.run("add", "brawe")

    assert "its name, brawe, is like that of a pack of OneTool's (brave)" in finished.stderr


async def test_a_remote_server_gets_its_headers_and_nothing_chooses_its_host(shop: Shop) -> None:
    def remote(url: str, **more: Any) -> dict[str, Any]:
        return {"remotes": [{"type": "streamable-http", "url": url, **more}]}

    token = {
        "name": "Authorization",
        "value": "Bearer {token}",
        "variables": {"token": {"isSecret": True, "isRequired": True}},
    }
    shop.registry.entries = [
        entry_of("io.x/far", **remote("http://127.0.0.1:1/mcp", headers=[token])),
        entry_of("io.x/host", **remote("https://{host}/mcp", variables={"host": {"value": "evil.example"}})),
        entry_of("io.x/plain", **remote("http://evil.example/mcp")),
        entry_of("io.x/login", **remote("https://user:word@x.example/mcp")),
        entry_of("io.x/headers", **remote("https://x.example/mcp", headers=[{"name": "Host", "value": "y"}])),
    ]
    names = ("host", "plain", "login", "headers")

    refused = [(await shop.add(f"io.x/{name}")).stderr for name in names]
    asked = await shop.add("io.x/far")

    assert all("not an https address with a fixed host" in said for said in refused[:3])
    assert "it sets the header 'Host'" in refused[3]
    assert "token must be given" in asked.stderr


async def _gigabytes(stream: Any) -> None:
    """Answer without an end, and fast."""
    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000000000\r\n\r\n")
    while True:
        await stream.send(b" " * 65536)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Reply(302, "", {"location": "http://127.0.0.1:1/"}), "redirects to another address"),
        (Reply(200, "[" * 100_000), "cannot be used"),
        (Reply(200, {"server": entry_of("io.github.mallory/other")}), "answered with another server"),
        (Reply(200, {"server": entry_of("io.github.аlice/weather")}), "entry is not valid: name"),
        (Reply(200, b"\x1f\x8b", {"content-encoding": "gzip"}), "its answer is compressed"),
        (Reply(500, "\x1b[2J"), "it answered with status 500"),
        (_gigabytes, "more than 4,000,000 bytes"),
    ],
)
async def test_a_registry_that_misbehaves_is_refused(shop: Shop, fault: Any, words: str) -> None:
    shop.registry.faults = [fault]

    finished = await shop.add("io.github.alice/weather")

    assert finished.returncode == 1
    assert words in finished.stderr
    assert "\x1b" not in finished.stderr


async def test_nothing_is_installed_without_a_yes(shop: Shop) -> None:
    shop.offer(package_of(*NPM))

    finished = await shop.run("add", "weather")

    assert (finished.returncode, shop.servers()) == (1, {})
    assert "nothing was added; --yes adds it as shown" in finished.stderr
