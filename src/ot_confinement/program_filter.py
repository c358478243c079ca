"""The seccomp filter of a confined program: no way around its files, its hosts and its own processes.

A list of what is shut, where a kernel has one of what is open: a server may be any program, in any language. Numbers
come from the kernel's own tables; None means that the architecture has no such call.
"""

from __future__ import annotations

import errno

from ot_confinement import syscalls
from ot_confinement.seccomp import (
    ALLOW,
    ARCHITECTURES,
    JUMP_ABOVE,
    RETURN,
    Rule,
    allow_only,
    begin_program,
    decide_calls,
    demand,
    op,
    refuse,
    refuse_if,
)

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable

NEWEST = 469
"""The last number that this list was checked against; later calls do not exist for a confined program."""

# name: (x86_64, aarch64)
ALWAYS: dict[str, tuple[int | None, int | None]] = {
    # other processes: their memory, their descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    # memory and messages that processes of one user share
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
    # the system itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "syslog": (103, 116), "iopl": (172, None), "ioperm": (173, None),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
}  # fmt: skip

# A way to make any other call unseen; told that they do not exist, programs do without.
UNKNOWN: dict[str, tuple[int, int]] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "clone3": (435, 435),
}  # fmt: skip

# Memory that no process is seen to hold, where memory is bounded.
HIDDEN_MEMORY: dict[str, tuple[int, int]] = {
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
}  # fmt: skip

# Modes, owners, times and attributes, which Landlock does not cover: shut where mounts cannot be made read-only.
METADATA: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None), "fchmod": (91, 52), "chown": (92, None), "fchown": (93, 55), "lchown": (94, None),
    "utime": (132, None), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "utimes": (235, None),
    "fchownat": (260, 54), "futimesat": (261, None), "fchmodat": (268, 53), "utimensat": (280, 88),
    "fchmodat2": (452, 452), "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip

# Calls that may be made about the calling process only: the index of the argument that names another one.
ABOUT_ITSELF: dict[str, tuple[tuple[int, int], int]] = {
    "prlimit64": ((302, 261), 0), "setpriority": ((141, 140), 1), "ioprio_set": ((251, 30), 1),
    "sched_setparam": ((142, 118), 0), "sched_setscheduler": ((144, 119), 0), "sched_setaffinity": ((203, 122), 0),
    "sched_setattr": ((314, 274), 0),
}  # fmt: skip


_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_SEQPACKET = 1, 2, 5
_SOCK_TYPE_MASK = 0xF
_CLONE_NAMESPACES = 0x7E020000  # all that `clone` can make; the rest of them is left to `unshare` and `clone3`
_IOCTLS = (0x5412, 0x541C, 0x40086602, 0x401C5820)  # typing into a terminal, and attributes of files (chattr)
_MAP_SHARED_ANONYMOUS = 0x21


def build_program_filter(machine: str, *, network: bool, metadata: bool, bounded: bool) -> bytes:
    """A filter for a program that may have connections, of its own namespace, and may change modes and times, or not.

    With `bounded` it has no memory but what its processes are seen to hold: pages that are shared outlive whoever
    wrote them, and count for nobody. Its sockets are those of the internet: one with a path in the file system would
    reach every other program's.
    """
    column = ARCHITECTURES[machine][1]
    program = [
        *begin_program(machine),
        op(JUMP_ABOVE, NEWEST, 0, 1),
        *refuse(errno.ENOSYS),
        *_refuse_all(UNKNOWN.values(), column, errno.ENOSYS),
        *_refuse_all(ALWAYS.values(), column),
    ]
    if not network:
        program += _refuse_all(syscalls.CONNECTIONS.values(), column)
    if not metadata:
        program += _refuse_all(METADATA.values(), column)
    if bounded:
        program += _refuse_all(HIDDEN_MEMORY.values(), column)
        shared = [*refuse_if(3, (_MAP_SHARED_ANONYMOUS,), _MAP_SHARED_ANONYMOUS), op(RETURN, ALLOW)]
        program += decide_calls([(syscalls.MMAP[column], shared)])
    # A pair of datagram sockets could be sent from to any path.
    pairs = [*demand(0, (_AF_UNIX,)), *allow_only(1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPE_MASK)]
    sockets = [*demand(0, (_AF_INET, _AF_INET6)), *allow_only(1, (_SOCK_STREAM, _SOCK_DGRAM), _SOCK_TYPE_MASK)]
    program += decide_calls(
        (
            (syscalls.CLONE[column], allow_only(0, (0,), _CLONE_NAMESPACES)),
            (syscalls.SOCKETPAIR[column], pairs),
            (syscalls.NETWORK["socket"][column], sockets if network else refuse()),
            (syscalls.IOCTL[column], [*refuse_if(1, _IOCTLS), op(RETURN, ALLOW)]),
            *((numbers[column], allow_only(index, (0,))) for numbers, index in ABOUT_ITSELF.values()),
        )
    )
    program.append(op(RETURN, ALLOW))
    return b"".join(program)


def _refuse_all(calls: Iterable[tuple[int | None, int | None]], column: int, reason: int = errno.EPERM) -> Rule:
    numbers = [pair[column] for pair in calls]
    return decide_calls((number, refuse(reason)) for number in numbers if number is not None)
