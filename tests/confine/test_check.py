"""`onetool check` and `ot.health()` show what is confined, and to what; what cannot be held is a mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ot.app import open_app
from ot.config.loader import load_config
from ot.kernel.zygote_process import COMPILED
from tests.availability import own_mounts_are_allowed, require_component
from tests.proxied import PROGRAMS, program

EXTENSION = '''\
# /// script
# dependencies = []
# [tool.onetool]
# confine = {hosts = ["api.example.com"], memory = "512m"}
# ///
def tool() -> int:
    """Do something."""
    return 1
'''


def check(home: Path, config: dict[str, Any], *words: str, extension: str = EXTENSION) -> tuple[int, str]:
    (home / ".onetool" / "tools").mkdir(parents=True)
    (home / ".onetool" / "onetool.yaml").write_text(json.dumps(config))
    (home / ".onetool" / "tools" / "sample.py").write_text(extension)
    command = [*words, sys.executable, "-m", "onetool", "check", "--offline"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=home, timeout=120)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_check_shows_the_confinement_of_everything_that_is_started(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    servers = {
        "plain": program("plain_server"),
        "shut": program("plain_server", confine={}),
        "some": program("plain_server", confine={"write": [str(notes)], "hosts": ["*.example.com"]}),
    }

    status, text = check(tmp_path, {"servers": servers, "packs": {"demo": {"enabled": True}}})

    assert status == 0, text
    assert "servers.plain: not confined\n" in text
    assert "servers.shut: confined to its own files; no network\n" in text
    assert f"servers.some: confined to its own files; writes {notes}; reaches *.example.com\n" in text
    assert "extension sample: confined to its own files; reaches api.example.com; at most 512m of memory\n" in text
    assert "tool demo.block: confined to its own files; writes {path}; no network\n" in text


def test_check_says_what_holds_the_scratch_files_of_runs(tmp_path: Path) -> None:
    restricted = (sys.executable, str(PROGRAMS.parent / "restricted_start.py"), "bare")
    kept = "on a file system of their own size (tmpfs)" if own_mounts_are_allowed() else "in a folder that is watched"

    assert f"runs: confined (standard); scratch files {kept}\n" in check(tmp_path / "here", {})[1]
    without = check(tmp_path / "bare", {}, *restricted, extension='def tool():\n    """Do something."""\n')[1]
    assert "runs: confined (standard); scratch files in a folder that is watched\n" in without
    assert "runs: not confined\n" in check(tmp_path / "off", {"execution": {"sandbox": "off"}})[1]


def run_restricted(home: Path, command: str, words: str) -> str:
    return onetool_restricted(home, words, "run", command)


def onetool_restricted(home: Path, words: str, *arguments: str) -> str:
    home.mkdir()
    start = [sys.executable, str(PROGRAMS.parent / "restricted_start.py"), words, sys.executable, "-m", "onetool"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), COMPILED: os.environ[COMPILED]}
    done = subprocess.run(
        [*start, *arguments], capture_output=True, text=True, check=False, env=environ, cwd=home, timeout=120
    )
    return done.stdout + done.stderr


def test_where_mounts_are_refused_the_watch_holds_runs_and_health_says_so(tmp_path: Path) -> None:
    fill = "import os, time\nfor n in range(5): os.posix_fallocate(os.open(f'{n}', 66), 0, 60 * 2**20)\ntime.sleep(60)"
    kept = "tmpfs" if own_mounts_are_allowed() else "watched"

    assert run_restricted(tmp_path / "a", "ot.health()['sandbox']['scratch']", "bare") == "watched\n"
    assert "more scratch than its limit of 256 MB" in run_restricted(tmp_path / "b", fill, "bare")
    assert run_restricted(tmp_path / "c", "ot.health()['sandbox']['scratch']", "all") == f"{kept}\n"


USED = """
import os
excel.create(path='a.xlsx', sheets=[{'rows': [['n'], [2]]}])
open('own', 'w').write('x')
found = ot.health()['sandbox']
(os.getuid(), [found[name] for name in ('status', 'missing', 'scratch', 'memory')])
"""


def test_runs_work_in_a_container_and_what_is_weaker_is_named() -> None:
    """Without rights, with the filter of Docker and Podman, a small /dev/shm, little locked memory, and noexec /tmp."""
    if not own_mounts_are_allowed():
        pytest.skip("only whoever may mount can play a container")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        answer = run_restricted(Path(folder, "a"), USED, "container")
        told = onetool_restricted(Path(folder, "b"), "container", "doctor", "--json")

    user = 1000 if os.geteuid() == 0 else os.geteuid()
    assert answer == f"- {user}\n- [ok, [], watched, watched]\n"
    found = {each["text"]: each for each in json.loads(told)["findings"] if each["area"] in {"confinement", "disk"}}
    assert [text for text, each in found.items() if each["light"] == "red"] == []
    [hosts] = [each for text, each in found.items() if "with chosen hosts" in text]
    assert (hosts["light"], hosts["fix"].split("  #")[0]) == ("yellow", "grep Seccomp: /proc/self/status")
    for part in ("are watched, but not limited", "has none (no cgroup", "mounted noexec", "/dev/shm is too small"):
        assert part in "\n".join(found)


def test_without_landlock_code_runs_as_a_component_and_health_says_why(tmp_path: Path) -> None:
    require_component()
    look = """
def try_open():
    try:
        return open('/etc/hostname').read()
    except OSError as error:
        return type(error).__name__
told = ot.health()['sandbox']
try_open(), told['engine'], told['status'], told['layers'], told['process_is_not_held'], len(told['without'])
"""
    expected = "[FileNotFoundError, wasm, ok, [wasm, seccomp], [landlock], 5]"

    assert run_restricted(tmp_path / "standard", look, "old").replace("\n", "") == expected


def test_bounds_that_this_system_cannot_hold_are_a_mistake(tmp_path: Path) -> None:
    restricted = (sys.executable, str(PROGRAMS.parent / "restricted_start.py"), "bare")
    servers = {"web": program("plain_server", confine={"hosts": ["example.com"], "read": ["/nowhere"]})}

    status, text = check(tmp_path, {"servers": servers}, *restricted)

    assert status == 2
    assert "servers.web.confine: /nowhere does not exist" in text
    assert "servers.web.confine, extension sample: a program like this cannot be confined" in text
    assert "this system refuses one (Operation not permitted)" in text


@pytest.mark.anyio
async def test_health_names_the_servers_that_are_confined(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    servers = {"shut": program("plain_server", confine={}), "plain": program("plain_server")}
    (tmp_path / ".onetool" / "onetool.yaml").write_text(json.dumps({"servers": servers}))
    async with open_app(load_config(environ={}, cwd=tmp_path, home=tmp_path)) as app:
        answer = await app.runner.run("ot.health()['proxy']")

    assert "confined: [shut]" in answer.text
