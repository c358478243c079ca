"""What the command line does about extensions, as a person uses it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.availability import uv_surroundings
from tests.e2e.raw_server import environment_of
from tests.engine import write_extension
from tests.preloaded import run_preloaded
from tests.trusting import trust_project
from tests.wheels import write_wheel

Finished = subprocess.CompletedProcess[str]
OneTool = Callable[..., Finished]


@pytest.fixture
def onetool(tmp_path: Path) -> OneTool:
    """Run `onetool ...` in a project beside its home."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()

    def run(*arguments: str, **environ: str) -> Finished:
        return run_preloaded(*arguments, cwd=project, env=environment_of(home) | environ)

    return run


def test_a_new_pack_works_and_is_listed(onetool: OneTool) -> None:
    written = onetool("new", "pack", "weather")

    assert written.returncode == 0, written.stderr
    assert written.stdout.splitlines() == [
        "wrote .onetool/tools/weather/weather_tools.py",
        "wrote .onetool/tools/weather/test_weather.py",
        "try it: onetool call weather.hello name=Ada",
    ]
    assert onetool("call", "weather.hello", "name=Ada").stdout == "Hello, Ada!\n"
    assert "weather.hello(*, name: str, times: int = 1) -> str" in onetool("tools", "weather").stdout
    assert onetool("check", "--offline").returncode == 0


def test_a_broken_pack_is_told_as_broken_where_code_names_it(onetool: OneTool, tmp_path: Path) -> None:
    write_extension(tmp_path / "home", "weather", "def hello() -> str:\n    return 'a\n")

    ran = onetool("run", "weather.hello()")

    assert ran.returncode == 1
    assert "The pack weather is broken: weather" in ran.stdout
    assert "line 2: not valid Python: unterminated string literal" in ran.stdout


def test_the_test_of_a_new_pack_passes(onetool: OneTool, tmp_path: Path) -> None:
    onetool("new", "pack", "weather")
    folder = tmp_path / "project" / ".onetool" / "tools" / "weather"

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder / "test_weather.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment_of(tmp_path / "home") | {"PYTHONPATH": onetool("sdk-path").stdout.strip()},
        timeout=60,
        check=False,
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "pack", "scaffold"], "a pack with this name already exists"),
        (["new", "pack", "my-pack"], "letters, digits and underscores"),
        (["new", "pack", "json"], "Python itself uses this name"),
        (["new", "pack"], "NAME"),
        (["new", "server", "x"], "pack"),
    ],
    ids=["taken", "no-identifier", "of-python", "no-name", "not-a-pack"],
)
def test_what_cannot_be_written_is_a_mistake_of_usage(onetool: OneTool, arguments: list[str], words: str) -> None:
    finished = onetool(*arguments)

    assert finished.returncode == 2
    assert words in finished.stderr
    assert finished.stdout == ""


def test_nothing_is_overwritten(onetool: OneTool, tmp_path: Path) -> None:
    file = write_extension(tmp_path / "project", "weather", "def mine(): ...\n")

    assert onetool("new", "pack", "weather").returncode == 2
    assert file.read_text() == "def mine(): ...\n"


def test_sdk_path_holds_the_kit_and_nothing_else(onetool: OneTool) -> None:
    finished = onetool("sdk-path")

    assert finished.returncode == 0
    assert {path.name for path in Path(finished.stdout.strip()).iterdir()} == {
        "ot_confinement",
        "ot_guardian",
        "ot_kernel",
        "ot_sdk",
        "ot_system",
    }


def test_check_names_every_file_that_cannot_be_used(onetool: OneTool, tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    broken = write_extension(project, "broken", "x = 1\ndef f(:\n")
    odd = write_extension(home, "odd", "# /// script\n# dependencies = [\n# ///\ndef f(): ...\n")
    ot = write_extension(project, "ot", "def f(): ...\n")
    write_extension(project, "fine", "def f(): ...\n")
    trust_project(project, home)
    finished = onetool("check", "--offline")

    lines = finished.stdout.splitlines()
    assert finished.returncode == 2
    assert [line.partition(":")[0] for line in lines] == [f"{broken}, line 2", str(odd), "pack ot"]
    assert "not valid Python" in lines[0]
    assert lines[2] == f"pack ot: the name belongs to OneTool itself; {ot} is not loaded"


def test_check_notes_what_somebody_arranged_and_finds_nothing_wrong_with_it(onetool: OneTool, tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    near = write_extension(project, "letters", "def f(): ...\n")
    far = write_extension(home, "letters", "def f(): ...\n")
    scaffold = write_extension(home, "scaffold", "def f(): ...\n")
    json = write_extension(home, "json", "def f(): ...\n")
    trust_project(project, home)
    finished = onetool("check", "--offline")

    assert finished.returncode == 0
    assert [line for line in finished.stdout.splitlines()[:-1] if not line.startswith(("runs: ", "tool"))] == [
        f"note: pack json: the name belongs to Python itself; {json} is available as json_",
        f"note: pack letters: the name belongs to {near}; {far} is not loaded",
        f"note: pack scaffold: the name belongs to {scaffold}; the built-in pack is available as scaffold_builtin",
        "extension json_: not confined",
        "extension letters: not confined",
        "extension scaffold: not confined",
    ]
    assert finished.stdout.splitlines()[-1].startswith("OK: ")


def with_dependency(where: str) -> str:
    """An extension that wants a package from somewhere."""
    return f"""\
        # /// script
        # requires-python = ">=3.11"
        # dependencies = ["thing"]
        # [tool.uv]
        # {where}
        # ///
        import thing

        def version() -> str:
            return thing.VERSION
        """


def test_locks_are_listed_checked_and_upgraded(onetool: OneTool, tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "1.0")
    source = with_dependency(f'find-links = ["{tmp_path / "wheels"}"]\n        # no-index = true')
    write_extension(tmp_path / "home", "things", source)

    unlocked = onetool("lock")
    called = onetool("call", "things.version")
    write_wheel(tmp_path / "wheels", "2.0")
    listed, checked = onetool("lock"), onetool("check", "--offline")
    upgraded = onetool("lock", "things", "--upgrade")
    called_again = onetool("call", "things.version")
    again = onetool("lock", "things")

    (lock,) = (tmp_path / "home" / ".onetool" / "state" / "locks").glob("*/things_tools.py.lock")
    assert unlocked.stdout == "things: not locked yet; the first call locks it\n"
    assert called.stdout == "1.0\n", called.stderr
    assert listed.stdout == f"things: thing 1.0 ({lock})\n"
    assert "note: locked dependencies: things; onetool lock lists and upgrades them" in checked.stdout
    assert upgraded.stdout == f"thing 1.0 -> 2.0\nLocked things ({lock}).\n"
    assert called_again.stdout == "2.0\n"
    assert again.stdout == f"Nothing has changed ({lock}).\n"

    lock.write_text("{")
    assert f"pack things: its lock {lock} is damaged" in onetool("check", "--offline").stdout
    assert onetool("lock", "things").returncode == 1
    assert onetool("lock", "--upgrade").returncode == onetool("lock", "nothing").returncode == 2


def test_the_index_of_a_projects_header_counts_only_when_it_is_trusted(onetool: OneTool, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.setblocking(False)
        where = f"index-url = 'http://127.0.0.1:{index.getsockname()[1]}/simple'"
        write_extension(tmp_path / "project", "things", with_dependency(where))

        refused = onetool("call", "things.version")
        onetool("lock", "things")
        with pytest.raises(BlockingIOError):
            index.accept()
        shown = onetool("trust")

    assert refused.returncode != 0
    assert "onetool trust" in refused.stdout + refused.stderr
    assert f"configures uv: {{'uv': {{'index-url': 'http://127.0.0.1:{where.split(':')[2]}" in shown.stdout.replace(
        '"', "'"
    )


def test_a_lock_that_a_project_ships_counts_only_when_it_is_trusted(onetool: OneTool, tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "1.0")
    source = with_dependency(f'find-links = ["{tmp_path / "wheels"}"]\n        # no-index = true')
    extension = write_extension(tmp_path / "project", "things", source)
    trust_project(tmp_path / "project", tmp_path / "home")
    extension.with_name("things_tools.py.lock").write_text(
        'version = 1\nrequires-python = ">=3.11"\n[manifest]\nrequirements = [{ name = "thing" }]\n[[package]]\n'
        'name = "thing"\nversion = "6.6"\nsource = { registry = "http://evil.example/simple" }\n'
        'wheels = [{ url = "http://evil.example/thing-6.6-py3-none-any.whl" }]\n'
    )

    untrusted = onetool("call", "things.version")
    shown = onetool("trust", "--yes")
    listed = onetool("lock")

    assert untrusted.stdout == "1.0\n", untrusted.stderr
    assert "locks 1 packages, from: http://evil.example" in shown.stdout
    assert listed.stdout.startswith("things: thing 6.6 (")


class Shop(BaseHTTPRequestHandler):
    """A service that knows one item, for whoever has its key."""

    def do_GET(self) -> None:
        known = self.headers["X-Key"] == "k1" and self.path == "/items/7?fields=name&fields=price"
        content = json.dumps({"name": "lamp", "price": 4.5} if known else {"detail": self.path}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_a_pack_from_a_description_is_checked_and_reaches_its_service(onetool: OneTool, tmp_path: Path) -> None:
    fields = {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    answer = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    responses = {"200": {"description": "The item", "content": {"application/json": {"schema": answer}}}}
    item = {"operationId": "getItem", "parameters": [number, fields], "responses": responses}
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        description = {
            "openapi": "3.1.0",
            "info": {"title": "Corner Shop"},
            "servers": [{"url": f"http://127.0.0.1:{service.server_port}"}],
            "security": [{"key": []}],
            "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
            "paths": {"/items/{id}": {"get": item, "delete": {"responses": {}}}},
        }
        (tmp_path / "shop.json").write_text(json.dumps(description))
        (tmp_path / "home" / ".onetool").mkdir()
        (tmp_path / "home" / ".onetool" / "secrets.yaml").write_text("CORNER_SHOP_KEY: k1\n")
        (tmp_path / "home" / ".onetool" / "secrets.yaml").chmod(0o600)

        written = onetool("new", "pack", "--from", "openapi", "../shop.json", "--only", "GET *")
        again = onetool("new", "pack", "--from", "openapi", "../shop.json")
        reaching = uv_surroundings()
        checked = onetool("check", "--import", **reaching)
        found = onetool("call", "corner_shop.get_item", "id=7", 'fields=["name", "price"]', **reaching)
        service.shutdown()

    assert written.stdout.splitlines() == [
        "wrote .onetool/tools/corner_shop/corner_shop_tools.py",
        "1 tool; list them with: onetool tools 'corner_shop.*'",
        "add CORNER_SHOP_KEY (an API key) to secrets.yaml",
    ]
    assert (again.returncode, "a pack with this name already exists" in again.stderr) == (2, True)
    assert checked.returncode == 0, checked.stdout
    assert "extension corner_shop:" in checked.stdout
    assert "lamp" in found.stdout


def test_what_an_author_can_mend_is_told_with_its_line(onetool: OneTool, tmp_path: Path) -> None:
    write_extension(
        tmp_path / "home", "weather", "import requests\n\ndef hello(*, at: Nowhere) -> str:\n    return 'a'\n"
    )

    checked = onetool("check", "--import")

    assert checked.returncode == 2
    told = [line.partition("/weather/")[2] for line in checked.stdout.splitlines() if "/weather/" in line]
    assert [line.partition(": ")[0] for line in told] == ["weather_tools.py:1", "weather_tools.py:3"]
