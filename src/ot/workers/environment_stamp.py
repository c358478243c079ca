"""A note about an environment that uv has made, so that uv need not be asked again as long as nothing has changed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_core.atomic_write import write_private
from mcp_core.quick_dataclass import dataclass
from ot.store.forms import FORM, check_form
from ot.workers.locks import Lock
from ot.workers.pep723 import ScriptHeader

_FORM = 1


@dataclass(frozen=True, slots=True)
class Stamp:
    """The request, the interpreter that resulted, and the state of its environment."""

    asked: str
    python: str
    state: list[int]


def read_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock) -> Path | None:
    """Return the interpreter of the environment of `file` if it is as uv left it; None: ask uv."""
    if _depends_on_other_files(header):
        return None
    try:
        facts: Any = check_form(json.loads(_place(state, file).read_bytes()), _FORM)
        stamp = Stamp(facts["asked"], facts["python"], facts["state"])
        python = Path(stamp.python)
        intact = python.exists() and stamp.state == _state(python) and stamp.asked == _asked(header, lock)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return python if intact else None


def write_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock, python: Path) -> None:
    """Remember an environment; if that cannot be written, uv is asked the next time."""
    try:
        stamp = Stamp(_asked(header, lock), str(python), _state(python))
        write_private(_place(state, file), json.dumps({FORM: _FORM, **asdict(stamp)}))
    except OSError:
        pass


def _place(state: Path, file: Path) -> Path:
    return state / "environments" / f"{file.stem}-{_digest(os.fsencode(file))[:16]}.json"


def _asked(header: ScriptHeader, lock: Lock) -> str:
    """Return a digest of the header and of the lock, which uv goes by."""
    return _digest(header.text.encode() + b"\0" + lock.kind.encode() + b"\0" + (lock.content() or b""))


def _state(python: Path) -> list[int]:
    """Return when the environment was last changed: installing or removing a package touches one of these folders."""
    root = python.parent.parent
    folders = [root / "pyvenv.cfg", *sorted(root.glob("lib*/python*/site-packages"))]
    return [folder.stat().st_mtime_ns for folder in folders]


def _depends_on_other_files(header: ScriptHeader) -> bool:
    """True if packages come from folders or repositories that uv has to look at each time."""
    uv = header.tool.get("uv")
    return (isinstance(uv, dict) and "sources" in uv) or any("file:" in item for item in header.dependencies)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
