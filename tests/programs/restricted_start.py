"""`restricted_start.py WORDS COMMAND...`: start a program as an ordinary user, or on a system that lacks something.

WORDS holds "user" to give up root, "bare" to be refused `unshare` by seccomp, "nobody" to be given a user namespace and
refused its users, as AppArmor does on Ubuntu 24.04, "old" to have no Landlock, and "container" to be an ordinary user who
is refused what Docker and Podman refuse by default, on a read-only system with little in /dev/shm and no programs in /tmp.
"macos" takes away what macOS lacks: /proc, /sys and /dev/shm, and system calls, but for those that programs and libraries
made for Linux cannot do without (epoll, eventfd, memory files, O_PATH).
"""

import ctypes
import errno
import os
import resource
import sys

from ot_confinement import namespaces
from ot_confinement.confine import Allowance
from ot_confinement.landlock import PathRules, version
from ot_confinement.program_filter import ALWAYS, UNKNOWN
from ot_confinement.seccomp import ALLOW, AND, ARCHITECTURES, JUMP_ABOVE, JUMP_EQUAL, LOAD, RETURN, Filter
from ot_confinement.seccomp import allow_only, begin_program, decide_calls, op, refuse
from ot_confinement.syscalls import CLONE

USER = 1000

MACHINE = os.uname().machine
COLUMN = ARCHITECTURES[MACHINE][1]
UNSHARE = ALWAYS["unshare"][COLUMN]
LANDLOCK = 444
NEW_NAMESPACES = 0x7E020000
# What a container may call, unlike a confined program; and the few that only a container is refused.
OPEN = frozenset(
    "adjtimex chroot clock_adjtime mq_open mq_unlink msgctl msgget msgrcv msgsnd process_mrelease process_vm_readv "
    "process_vm_writev ptrace semctl semget semop semtimedop shmat shmctl shmget".split()
)
CLOSED = {
    "lookup_dcookie": (212, 18), "mbind": (237, 235), "set_mempolicy": (238, 237), "get_mempolicy": (239, 236),
    "name_to_handle_at": (303, 264), "set_mempolicy_home_node": (450, 450),
}  # fmt: skip
MOUNT_FLAGS = 0x1000 | 0x20 | 0x2 | 0x4 | 0x8  # MS_BIND, MS_REMOUNT, MS_NOSUID, MS_NODEV, MS_NOEXEC
NOT_ON_MACOS = {
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "inotify_init1": (294, 26), "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444), "signalfd4": (289, 74), "timerfd_create": (283, 85), "capset": (126, 91),
    "sched_setaffinity": (203, 122), "copy_file_range": (326, 285), "splice": (275, 76), "renameat2": (316, 276),
    "openat2": (437, 437), "prctl": (157, 167),
}  # fmt: skip
BIND, CONNECT, SOCKET, SOCKETPAIR, PRLIMIT = (49, 200), (42, 203), (41, 198), (53, 199), (302, 261)
SECOND, THIRD = 16 + 8, 16 + 2 * 8  # where a filter finds arguments
SEQPACKET = 5
LONGEST_ADDRESS = 2 + 104  # bytes, of a unix socket

LIBC = ctypes.CDLL(None, use_errno=True)


def refuse_calls(rules):
    program = [*begin_program(MACHINE), *decide_calls(rules), op(RETURN, ALLOW)]
    LIBC.prctl(38, 1, 0, 0, 0)  # no new privileges: whoever is not root needs it for a filter
    Filter(LIBC, b"".join(program)).load(os.getpid())


def refuse_writing_in_proc():
    writable = tuple(f"/{name}" for name in os.listdir("/") if name != "proc")
    open_ = Allowance(readable=("/",), writable=writable, memory=0, file_size=0, open_files=0, network=True)
    rules = PathRules(LIBC, open_, version(LIBC))
    LIBC.prctl(38, 1, 0, 0, 0)
    rules.restrict(rules.build_ruleset("/tmp"))


def mount_as_in_a_container():
    namespaces.enter_namespaces(LIBC, network=False)
    namespaces.make_private(LIBC)
    namespaces.mount_memory(LIBC, "/dev/shm", b"size=64m,mode=1777")
    namespaces.make_read_only(LIBC, writable=("/tmp", "/dev", "/proc"))
    if LIBC.mount(None, b"/tmp", None, ctypes.c_ulong(MOUNT_FLAGS), None):
        raise OSError(ctypes.get_errno(), "mount")


def become_a_user_who_owns_the_files_of_root():
    LIBC.unshare(0x10000000)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{USER} 0 1"), ("gid_map", f"{USER} 0 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def refuse_as_in_a_container():
    named = {**ALWAYS, **CLOSED, **UNKNOWN}
    refused = [numbers[COLUMN] for name, numbers in named.items() if name not in OPEN and name != "clone3"]
    rules = [(number, refuse()) for number in refused if number is not None]
    rules += [(UNKNOWN["clone3"][COLUMN], refuse(errno.ENOSYS)), (CLONE[COLUMN], allow_only(0, (0,), NEW_NAMESPACES))]
    refuse_calls(rules)


def leave_linux():
    namespaces.enter_namespaces(LIBC, network=False)
    namespaces.make_private(LIBC)
    for folder in ("/proc", "/sys", "/dev/shm"):
        namespaces.mount_memory(LIBC, folder, b"size=4k,mode=555")
    named = {**NOT_ON_MACOS, **UNKNOWN, **{name: ALWAYS[name] for name in ("pidfd_getfd", "unshare", "setns", "mount")}}
    rules = [(numbers[COLUMN], refuse(errno.ENOSYS)) for numbers in named.values()]
    too_long = [op(LOAD, THIRD), op(JUMP_ABOVE, LONGEST_ADDRESS, 0, 1), *refuse(errno.EINVAL), op(RETURN, ALLOW)]
    rules += [(numbers[COLUMN], too_long) for numbers in (BIND, CONNECT)]
    packets = [op(LOAD, SECOND), op(AND, 0xF), op(JUMP_EQUAL, SEQPACKET, 0, 1), *refuse(errno.EPROTONOSUPPORT)]
    rules += [(numbers[COLUMN], [*packets, op(RETURN, ALLOW)]) for numbers in (SOCKET, SOCKETPAIR)]
    of_memory = [op(LOAD, SECOND), op(JUMP_EQUAL, resource.RLIMIT_DATA, 1, 0), op(JUMP_EQUAL, resource.RLIMIT_AS, 0, 3)]
    unset = [op(LOAD, THIRD), op(JUMP_EQUAL, 0, 1, 0), *refuse(0), op(RETURN, ALLOW)]  # "done", and nothing is
    refuse_calls([*rules, (PRLIMIT[COLUMN], [*of_memory, *unset])])


words, *command = sys.argv[1:]
if "container" in words:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
    was_root = os.geteuid() == 0
    mount_as_in_a_container()
    if was_root:
        become_a_user_who_owns_the_files_of_root()
if "user" in words:
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
if "bare" in words:
    refuse_calls([(UNSHARE, refuse(errno.EPERM))])
if "nobody" in words:
    refuse_writing_in_proc()
if "container" in words:
    refuse_as_in_a_container()
if "old" in words:
    refuse_calls([(LANDLOCK, refuse(errno.ENOSYS))])
if "macos" in words:
    leave_linux()
os.execv(command[0], command)
