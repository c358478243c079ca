"""Which confinement applies, and what it leaves a process."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ot_confinement import Allowance, NoConfinementError, build_confinement, require_confinement
from ot_confinement.confine import Confine, confine_from

ALLOWANCE = Allowance((), (), memory=2**30, file_size=2**20, open_files=100)

CONFINED = """
import os, socket, sys
from ot_confinement import Allowance, build_confinement

folder, port, network = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "network"
confinement = build_confinement(
    Allowance(("/usr", "/lib"), (), memory=2**30, file_size=1000, open_files=100, network=network), off=False
)
confinement.share()
confinement.apply(confinement.build_rules(folder), os.getppid())
confinement.seal()

def outcome(attempt):
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"

print(
    confinement.layers, confinement.missing, confinement.failed,
    outcome(lambda: socket.socket().connect(("127.0.0.1", port))),
    outcome(lambda: open(folder + "/file", "w").close()),
    outcome(lambda: open(folder + "/../planted", "w").close()),
    outcome(os.fork),
)
"""


PROBED = """
import os, sys
from ot_confinement import Allowance, seccomp
from ot_confinement.linux import LinuxConfinement
from ot_confinement.probe import find_broken_promises

folder, how = sys.argv[1:]
if how != "free":
    allowance = Allowance(("/usr", "/lib", sys.base_prefix), (), memory=2**30, file_size=1000, open_files=100)
    version = None if how == "new" else 2
    confinement = LinuxConfinement(allowance, off=False, landlock_version=version)
    if how == "pretending":
        confinement._shared_filter = seccomp.Filter(confinement._libc, seccomp.build_shared_filter(os.uname().machine))
    confinement.share()
    confinement.apply(confinement.build_rules(folder + "/own"), os.getppid())
    confinement.seal()
    print(confinement.missing)
print(find_broken_promises(folder + "/outside", os.getppid()))
"""
WAYS = {
    "free": "['open a file', 'open a file', 'truncate a file', 'truncate a file', 'truncate a file', 'truncate a file', "
    "'remove a file', 'connect', 'connect', 'connect', 'connect', 'connect', 'connect', 'map shared memory', 'fork', "
    "'signal a process']\n",
    "new": "[]\n[]\n",
    "old": "[]\n[]\n",  # seccomp stands in
    "pretending": "[]\n['truncate a file', 'truncate a file']\n",
}


@pytest.mark.parametrize(("how", "told"), WAYS.items(), ids=WAYS.keys())
def test_a_probe_finds_what_a_process_can_do_whatever_the_system_says(tmp_path: Path, how: str, told: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "outside").write_text("kept")

    answer = subprocess.run(
        [sys.executable, "-c", PROBED, str(tmp_path), how], capture_output=True, text=True, check=False, timeout=60
    )

    assert (answer.stdout, answer.stderr) == (told, "")
    assert how in {"free", "pretending"} or (tmp_path / "outside").read_text() == "kept"


@pytest.mark.parametrize("system", ["darwin", "win32", "plan9"])
def test_a_system_that_cannot_confine_is_refused_unless_nobody_wants_it_to(system: str) -> None:
    with pytest.raises(NoConfinementError) as caught:
        build_confinement(ALLOWANCE, off=False, system=system)
    with pytest.raises(NoConfinementError):
        require_confinement(off=False, system=system)

    assert caught.value.system == system
    require_confinement(off=True, system=system)
    for ways in ({"off": True}, {"off": False, "needed": False}):
        unconfined = build_confinement(ALLOWANCE, **ways, system=system)
        assert (unconfined.layers, unconfined.missing, unconfined.guards_calls) == ([], [], False)


@pytest.mark.parametrize(("network", "connected"), [("none", "PermissionError"), ("network", "done")])
def test_a_process_touches_what_it_was_allowed_and_nothing_else(tmp_path: Path, network: str, connected: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = [str(own), str(listener.getsockname()[1]), network]
        answer = subprocess.run(
            [sys.executable, "-c", CONFINED, *arguments], capture_output=True, text=True, check=False, timeout=60
        )

    expected = f"['landlock', 'seccomp'] [] [] {connected} done PermissionError PermissionError\n"
    assert (answer.stdout, answer.stderr) == (expected, "")


def test_bounds_cross_to_a_guardian_as_one_word() -> None:
    odd = Confine(
        ("/a b", "/%1e\x1e", "/\x1f\n", "/caf\udce9"), ("",), ("*.example.com",), 5, ("/f",), (7, 8), "/tmp/x", ()
    )

    assert confine_from(odd.to_text()) == odd
    assert confine_from(Confine().to_text()) == Confine()
    assert confine_from(Confine(off=True, otherwise=". \x1e").to_text()) == Confine(off=True, otherwise=". \x1e")
    assert Confine()._replace(programs=("/bin/true",)).programs == ("/bin/true",)
