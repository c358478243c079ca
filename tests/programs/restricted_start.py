"""`restricted_start.py WORDS COMMAND...`: start a program as an ordinary user, or where namespaces are refused, or both.

WORDS holds "user" to give up root, and "bare" to be refused `unshare` by seccomp, as most containers refuse it.
"""

import ctypes
import os
import sys

from ot_confinement.bpf import ALLOW, ARCHITECTURES, RETURN, begin_program, decide_calls, op, refuse
from ot_confinement.refused_calls import ALWAYS
from ot_confinement.seccomp import Filter

NOBODY = 65534


def refuse_namespaces():
    libc = ctypes.CDLL(None, use_errno=True)
    machine = os.uname().machine
    number = ALWAYS["unshare"][ARCHITECTURES[machine][1]]
    program = [*begin_program(machine), *decide_calls([(number, refuse())]), op(RETURN, ALLOW)]
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges: whoever is not root needs it for a filter
    Filter(libc, b"".join(program)).load(os.getpid())


words, *command = sys.argv[1:]
if "user" in words:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
if "bare" in words:
    refuse_namespaces()
os.execv(command[0], command)
