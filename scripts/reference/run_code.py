"""What code in a run has and may do: the names it is given, its limits, and the system calls that are open to it."""

from __future__ import annotations

import inspect
import re

from ot.config.models import Config
from ot.kernel import limits
from ot_confinement import syscalls
from ot_kernel import values
from scripts.reference.tables import render_table

_MB = 1024**2
_GROUP = re.compile(r"^    # (.+)$|\"(\w+)\": \(", re.MULTILINE)


def render_limits() -> str:
    execution = Config().execution
    rows = [
        ("time", f"{execution.timeout:g} seconds", "`execution.timeout`"),
        ("memory", f"{execution.memory // _MB:,} MB", "`execution.memory`"),
        ("one file", f"{limits.FILE_SIZE // _MB} MB", "none"),
        ("all files of the run", f"{limits.SCRATCH // _MB} MB, {limits.SCRATCH_FILES:,} files and folders", "none"),
        ("threads", f"{limits.THREADS}", "none"),
        (
            "characters in the answer",
            f"{Config().results.inline_limit:,}; what is longer is stored",
            "`results.inline_limit`",
        ),
    ]
    return render_table(("limit", "value", "key"), rows)


def render_values() -> str:
    kinds = ", ".join(f"`{kind}`" for kind in ["None", "bool", "list", *values._DECODERS] if "_" not in kind)
    return f"{kinds}\n"


def render_system_calls() -> str:
    source = inspect.getsource(syscalls).partition("ALLOWED: ")[2].partition("\n}")[0]
    groups: dict[str, list[str]] = {}
    for group, name in _GROUP.findall(source):
        if group:
            groups[group] = []
        else:
            list(groups.values())[-1].append(f"`{name}`")
    return render_table(("for", "system calls"), ((about, ", ".join(names)) for about, names in groups.items()))
