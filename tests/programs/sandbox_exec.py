#!/usr/bin/env python3
"""`sandbox_exec.py HOW -p PROFILE -- COMMAND...`: plays macOS's sandbox-exec on Linux.

HOW is "held" to hold the command to its profile by Landlock and seccomp ("held:FOLDER" lets it read that too), "hollow" to
hold it to nothing, and "nested" to fail as sandbox-exec does inside another sandbox.
"""

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from ot_confinement import landlock, privileges  # noqa: E402
from ot_confinement.confine import Allowance, Confine  # noqa: E402
from ot_confinement.program import SYSTEM_FILES, confine_program  # noqa: E402
from tests.sbpl import parse, places_of  # noqa: E402

# What a program of Linux is loaded by is a program too.
LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


def find_bounds(rules, more):
    programs = places_of(rules, "process-exec*")
    single = [path for path in places_of(rules, "file-write-data") if path != "/dev/null"]
    return Confine(
        (*places_of(rules, "file-read*"), *more),
        places_of(rules, "file-write*"),
        programs=None if "/bin" in programs else tuple(filter(os.path.exists, (*programs, *LOADERS))),
        closed=places_of(rules, "file-read-data", "deny"),
        written=tuple(single),
    )


def confine_but_for_network(bounds, folder):
    libc = ctypes.CDLL(None, use_errno=True)
    open_ = {"programs": bounds.programs, "closed": bounds.closed, "written": bounds.written, "network": True}
    allowance = Allowance((*SYSTEM_FILES, *bounds.readable), ("/dev/null", *bounds.writable), 0, 0, 0, **open_)
    privileges.give_up_privileges(libc)
    restricted = landlock.PathRules(libc, allowance, landlock.version(libc))
    restricted.restrict(restricted.build_ruleset(folder))


how, option, profile, dashes, *command = sys.argv[1:]
how, *more = how.split(":")
if how == "nested":
    sys.exit("sandbox-exec: sandbox_apply: Operation not permitted")
assert (option, dashes) == ("-p", "--")
rules = parse(profile)
if how == "held":
    bounds, folder = find_bounds(rules, more), os.environ["TMPDIR"]
    if any(rule[:2] == ["allow", "network-outbound"] for rule in rules):
        confine_but_for_network(bounds, folder)
    else:
        confine_program(bounds, folder, parent=os.getppid(), channel=None)
os.execvp(command[0], command)
