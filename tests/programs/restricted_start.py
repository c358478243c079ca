"""`restricted_start.py WORDS COMMAND...`: start a program as an ordinary user, or on a system that lacks something.

WORDS holds "user" to give up root, "bare" to be refused `unshare` by seccomp, as most containers refuse it, "nobody" to
be given a user namespace and refused its users, as AppArmor does on Ubuntu 24.04, and "old" to have no Landlock.
"""

import ctypes
import errno
import os
import sys

from ot_confinement.confine import Allowance
from ot_confinement.landlock import PathRules, version
from ot_confinement.seccomp import ALLOW, ARCHITECTURES, RETURN, begin_program, decide_calls, op, refuse
from ot_confinement.program_filter import ALWAYS
from ot_confinement.seccomp import Filter

USER = 1000


MACHINE = os.uname().machine
UNSHARE = ALWAYS["unshare"][ARCHITECTURES[MACHINE][1]]
LANDLOCK = 444


def refuse_call(number, reason):
    libc = ctypes.CDLL(None, use_errno=True)
    program = [*begin_program(MACHINE), *decide_calls([(number, refuse(reason))]), op(RETURN, ALLOW)]
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges: whoever is not root needs it for a filter
    Filter(libc, b"".join(program)).load(os.getpid())


def refuse_writing_in_proc():
    libc = ctypes.CDLL(None, use_errno=True)
    writable = tuple(f"/{name}" for name in os.listdir("/") if name != "proc")
    open_ = Allowance(readable=("/",), writable=writable, memory=0, file_size=0, open_files=0, network=True)
    rules = PathRules(libc, open_, version(libc))
    libc.prctl(38, 1, 0, 0, 0)
    rules.restrict(rules.build_ruleset("/tmp"))


words, *command = sys.argv[1:]
if "user" in words:
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
if "bare" in words:
    refuse_call(UNSHARE, errno.EPERM)
if "nobody" in words:
    refuse_writing_in_proc()
if "old" in words:
    refuse_call(LANDLOCK, errno.ENOSYS)
os.execv(command[0], command)
