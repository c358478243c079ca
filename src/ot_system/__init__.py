"""One room for the differences between systems: processes, descriptors, sockets, threads. Standard library only.

`linux` makes the system calls that only Linux has, `portable` does with what every POSIX system has and what macOS adds
to it. Both offer the same names, of which those of this system are chosen here; nobody else asks which system it is.
`sockets`, apart because few need it, has sockets that keep messages apart, and tells who is at the other end of one.
Confinement, which is a different thing on each system, has a package of its own (`ot_confinement`).

Python 3.9 or newer, and cheap to import: guardians and kernels load it.

Where another system is weaker than Linux, the function in `portable` says so. In short: a process is signalled by its
number if it still lives, not by something that is the process itself; a guardian ends the group of its child and what
it can list, so a process in a session of its own whose parent has ended escapes it; a process that is to end with its
parent looks for it twice a second; what a process uses may be unknown, and then only the limits of the system hold it.
"""

# ruff: noqa: F405 - both systems have the names of `__all__`
from __future__ import annotations

import sys

if sys.platform == "linux":
    from ot_system.linux import *  # noqa: F403 - what `__all__` lists
else:
    from ot_system.portable import *  # noqa: F403 - as above

__all__ = [
    "CAN_FORK_LOADED", "GLANCE", "MEMORY_FOLDER", "PLACE", "Bell", "ChangeNotes", "ChildWatch", "adopt_orphans",
    "attribute_of", "change_target", "children_of", "close_from", "copy_attributes", "count_descriptors",
    "count_threads", "end_with_parent", "enlarge_pipe", "has_children", "is_visible", "kill", "kill_below", "leads_to",
    "may_not_execute", "measure_nameless", "memory_file", "open_step", "own_handle", "private_memory_of",
    "read_attributes", "read_link", "resident_memory", "send_elsewhere", "signal_process", "usage_of", "wait_for_end",
    "watch_process", "write_attributes",
]  # fmt: skip
