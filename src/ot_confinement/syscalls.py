"""System calls that a run may make: names with their numbers on each machine.

An allow-list: what is not named here fails with EPERM. Numbers come from the kernel's own tables; None means that
the architecture has no such call.
"""

from __future__ import annotations

# name: (x86_64, aarch64)
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # files: which ones is Landlock's to say
    "read": (0, 63), "write": (1, 64), "open": (2, None), "close": (3, 57), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "lseek": (8, 62), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65),
    "writev": (20, 66), "access": (21, None), "dup": (32, 23), "dup2": (33, None), "sendfile": (40, 71),
    "flock": (73, 32), "fsync": (74, 82), "fdatasync": (75, 83), "truncate": (76, 45), "ftruncate": (77, 46),
    "getdents": (78, None), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "rename": (82, None),
    "mkdir": (83, None), "rmdir": (84, None), "link": (86, None), "unlink": (87, None), "symlink": (88, None),
    "readlink": (89, None), "umask": (95, 166), "statfs": (137, 43), "fstatfs": (138, 44), "readahead": (187, 213),
    "getdents64": (217, 61), "fadvise64": (221, 223), "openat": (257, 56), "mkdirat": (258, 34),
    "newfstatat": (262, 79), "unlinkat": (263, 35), "renameat": (264, 38), "linkat": (265, 37),
    "symlinkat": (266, 36), "readlinkat": (267, 78), "faccessat": (269, 48), "fallocate": (285, 47),
    "dup3": (292, 24), "preadv": (295, 69), "pwritev": (296, 70), "renameat2": (316, 276),
    "copy_file_range": (326, 285), "preadv2": (327, 286), "pwritev2": (328, 287), "statx": (332, 291),
    "close_range": (436, 436), "faccessat2": (439, 439),
    # memory
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216), "msync": (26, 227),
    "mincore": (27, 232), "madvise": (28, 233), "membarrier": (324, 283),
    # waiting, pipes and the pairs of sockets that event loops wake themselves with
    "poll": (7, None), "pipe": (22, None), "select": (23, None), "sendto": (44, 206), "recvfrom": (45, 207),
    "recvmsg": (47, 212), "shutdown": (48, 210), "getsockname": (51, 204), "getpeername": (52, 205),
    "setsockopt": (54, 208), "getsockopt": (55, 209), "epoll_create": (213, None), "epoll_wait": (232, None),
    "epoll_ctl": (233, 21), "pselect6": (270, 72), "ppoll": (271, 73), "epoll_pwait": (281, 22),
    "eventfd": (284, None), "timerfd_create": (283, 85), "timerfd_settime": (286, 86), "timerfd_gettime": (287, 87),
    "signalfd4": (289, 74), "eventfd2": (290, 19), "epoll_create1": (291, 20), "pipe2": (293, 59),
    "epoll_pwait2": (441, 441),
    # threads
    "sched_yield": (24, 124), "gettid": (186, 178), "futex": (202, 98), "sched_getaffinity": (204, 123),
    "set_tid_address": (218, 96), "set_robust_list": (273, 99), "get_robust_list": (274, 100), "getcpu": (309, 168),
    "rseq": (334, 293), "futex_waitv": (449, 449),
    # signals inside the process
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "pause": (34, None),
    "getitimer": (36, 102), "alarm": (37, None), "setitimer": (38, 103), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    # time
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "times": (100, 153), "time": (201, None),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    # facts about itself and the machine
    "getpid": (39, 172), "exit": (60, 93), "wait4": (61, 260), "uname": (63, 160), "getrlimit": (97, 163),
    "getrusage": (98, 165), "sysinfo": (99, 179), "getuid": (102, 174), "getgid": (104, 176), "setrlimit": (160, 164),
    "geteuid": (107, 175), "getegid": (108, 177), "getppid": (110, 173), "getpgrp": (111, None),
    "getgroups": (115, 158), "getresuid": (118, 148), "getresgid": (120, 150), "getpgid": (121, 155),
    "getsid": (124, 156), "getpriority": (140, 141), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "exit_group": (231, 94), "waitid": (247, 95), "getrandom": (318, 278),
}  # fmt: skip

# Connections of one's own.
CONNECTIONS: dict[str, tuple[int, int]] = {
    "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201), "accept4": (288, 242),
}  # fmt: skip

# What a network takes, where it is allowed.
NETWORK: dict[str, tuple[int, int]] = {
    **CONNECTIONS,
    "socket": (41, 198), "sendmsg": (46, 211), "recvmmsg": (299, 243), "sendmmsg": (307, 269),
}  # fmt: skip

# What only the zygote needs: to fork and signal kernels, to build what confines them, to mount their scratch folders (a
# kernel gives up the right to do that before anything else), and to pass on descriptors, by which a kernel could hide
# files in a socket, where nobody counts them.
ZYGOTE_ONLY: dict[str, tuple[int, int]] = {
    "sendmsg": (46, 211), "capset": (126, 91), "mount": (165, 40), "umount2": (166, 39), "memfd_create": (319, 279),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
}  # fmt: skip

# Calls that are allowed only with certain arguments; seccomp.py says which.
CLONE, CLONE3, KILL, TGKILL = (56, 220), (435, 435), (62, 129), (234, 131)
PRCTL, FCNTL, IOCTL, SOCKETPAIR = (157, 167), (72, 25), (16, 29), (53, 199)
PRLIMIT64, MMAP, IO_URING_REGISTER = (302, 261), (9, 222), (427, 427)
