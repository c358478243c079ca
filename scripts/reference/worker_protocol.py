"""The numbers of the worker protocol, with what their lines in the source say of them."""

from __future__ import annotations

import inspect
import re

from ot_sdk import protocol
from scripts.reference.tables import render_table

_CODE = re.compile(r"^([A-Z_]+) = (-\d+)(?:  # (.+))?$", re.MULTILINE)
_PLAIN = {
    "NO_SUCH_TOOL": "the file has no such tool; `data.tools` lists those it has",
    "CANCELLED": "the call was cancelled",
}


def render_error_codes() -> str:
    found = _CODE.findall(inspect.getsource(protocol))
    return render_table(("code", "meaning"), ((f"`{code}`", words or _PLAIN[name]) for name, code, words in found))
