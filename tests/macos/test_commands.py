"""Commands on a played Mac."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.availability import require_component
from tests.e2e.processes import wait_until_gone
from tests.macos.mac import Mac, configure
from tests.macos.tree import make_tree
from tests.models.terminal import in_terminal

SERVER = Path(__file__).parent.parent / "programs" / "servers" / "plain_server.py"


@pytest.fixture(scope="module")
def home(mac: Mac, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's home, where one run was made."""
    folder = configure(tmp_path_factory.mktemp("home"), "execution: {timeout: 60}\n")
    done = mac.run("run", "file.write(path='a.txt', content='one')\nsum(range(10))", home=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "45\n", "")
    return folder


def test_a_time_limit_names_the_line(mac: Mac, tmp_path: Path) -> None:
    configure(tmp_path, "execution: {timeout: 1}\n")

    done = mac.run("run", "x = 1\nwhile True:\n    x += 1", home=tmp_path)

    assert done.returncode == 1
    assert "took longer than 1 s" in done.stdout + done.stderr
    assert "line 2" in done.stdout + done.stderr or "line 3" in done.stdout


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("process", "a process cannot be confined on darwin; `execution.engine: wasm` runs code as a component"),
        ("auto", "the engine wasm cannot be used: wasmtime is not installed"),
    ],
)
def test_an_engine_that_is_missing_is_told_in_a_sentence(tmp_path: Path, engine: str, words: str) -> None:
    bare = Mac(make_tree(tmp_path / "python", without=("wasmtime",)))
    home = configure(tmp_path, f"execution: {{engine: {engine}}}\n")

    done = bare.run("run", "1", home=home)

    assert done.returncode == 1
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True], ids=["before it is compiled", "after it was compiled"])
def test_a_broken_wasmtime_is_told_in_a_sentence_with_the_command_that_helps(tmp_path: Path, *, compiled: bool) -> None:
    require_component()
    broken = Mac(make_tree(tmp_path / "python"))
    if compiled:
        broken.give_component()
    [library] = (tmp_path / "python").rglob("_libwasmtime.dylib")
    library.unlink()
    library.write_text("not a library")
    home = configure(tmp_path, "execution: {timeout: 60}\n")

    ran, fetched = (broken.run(*words, home=home) for words in (("run", "1"), ("fetch", "wasm")))

    said = ran.stdout + ran.stderr
    assert (ran.returncode, "Traceback" in said) == (1, False)
    assert "the engine wasm cannot be used: wasmtime cannot be loaded: " in said
    assert re.search(r"; `.*install .*--force-reinstall --no-deps wasmtime==[0-9.]+` installs it", said)
    if not compiled:
        assert (fetched.returncode, "Traceback" in fetched.stderr) == (1, False)
        assert "--force-reinstall" in fetched.stderr


def test_what_unconfined_code_has_started_ends_with_its_run(mac: Mac, tmp_path: Path) -> None:
    home = configure(tmp_path, "execution: {engine: process, sandbox: off}\n")
    orphan = "subprocess.run(['/bin/sh', '-c', '/bin/sleep 600 >/dev/null 2>&1 & echo $!'], capture_output=True).stdout"

    done = mac.run("run", f"import subprocess\nint({orphan})", home=home)

    assert done.returncode == 0, done.stdout + done.stderr
    wait_until_gone({int(done.stdout)})


def test_a_pack_whose_helper_cannot_be_confined_says_what_to_set(mac: Mac, home: Path) -> None:
    done = mac.run("run", "excel.create(path='a.xlsx', sheets=[{'name': 'A', 'rows': [{'a': 1}]}])", home=home)

    assert done.returncode == 1
    assert "packs.excel.confine: off" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_clients_are_connected_and_their_servers_imported(mac: Mac, tmp_path: Path) -> None:
    home = configure(tmp_path, "execution: {timeout: 60}\n")
    own = {"mcpServers": {"plain": {"command": sys.executable, "args": [str(SERVER)]}}}
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(json.dumps(own))

    imported = mac.run("import", "--from", "cursor", "--global", "--offline", home=home, cwd=mac.python.parent)
    connected = mac.run("connect", "cursor", home=home)

    entry = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["onetool"]
    assert (imported.returncode, connected.returncode) == (0, 0), imported.stderr + connected.stderr
    assert "plain" in (home / ".onetool/onetool.yaml").read_text()
    assert entry["args"][0] == "serve"


@pytest.mark.long
def test_check_and_doctor_start_everything(mac: Mac, tmp_path: Path) -> None:
    configure(tmp_path, f"servers: {{plain: {{command: {sys.executable}, args: ['{SERVER}']}}}}\n")

    checked = mac.run("check", home=tmp_path)
    examined = mac.run("doctor", home=tmp_path)

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert "  ok   wasm confines runs" in examined.stdout
    assert examined.stdout.splitlines()[-1].endswith(" 0 red")


def test_figures_are_shown(mac: Mac, home: Path) -> None:
    shown = json.loads(mac.run("stats", "--json", home=home).stdout)

    assert shown["total_calls"] >= 1


def test_a_person_types_code(mac: Mac, home: Path) -> None:
    env = {**mac.surroundings(home), "TERM": "xterm"}
    with in_terminal(mac.command("repl"), cwd=home, env=env) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("6 * 7\r")
        assert "42" in terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.wait_for_exit() == 0
