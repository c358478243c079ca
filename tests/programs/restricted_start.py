"""`restricted_start.py WORDS COMMAND...`: start a program as an ordinary user, or on a system that lacks something.

WORDS holds "user" to give up root, "bare" to be refused `unshare` by seccomp, as most containers refuse it, and "old"
to have no Landlock.
"""

import ctypes
import errno
import os
import sys

from ot_confinement.seccomp import ALLOW, ARCHITECTURES, RETURN, begin_program, decide_calls, op, refuse
from ot_confinement.program_filter import ALWAYS
from ot_confinement.seccomp import Filter

NOBODY = 65534


MACHINE = os.uname().machine
UNSHARE = ALWAYS["unshare"][ARCHITECTURES[MACHINE][1]]
LANDLOCK = 444


def refuse_call(number, reason):
    libc = ctypes.CDLL(None, use_errno=True)
    program = [*begin_program(MACHINE), *decide_calls([(number, refuse(reason))]), op(RETURN, ALLOW)]
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges: whoever is not root needs it for a filter
    Filter(libc, b"".join(program)).load(os.getpid())


words, *command = sys.argv[1:]
if "user" in words:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
if "bare" in words:
    refuse_call(UNSHARE, errno.EPERM)
if "old" in words:
    refuse_call(LANDLOCK, errno.ENOSYS)
os.execv(command[0], command)
