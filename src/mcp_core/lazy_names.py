"""Names of a package whose modules are loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def lazy_names(package: str) -> Callable[[str], object]:
    """Build the `__getattr__` of a package that imports its names below `if TYPE_CHECKING:`."""
    # These imports are the only list of the names: type checkers read them, and so does the first use of a name.
    homes: dict[str, str] = {}

    def find(name: str) -> object:
        if not homes:
            source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
            imports = source.partition("if TYPE_CHECKING:")[2].partition("else:")[0]
            for statement in imports.split("from ")[1:]:
                module, names = statement.split(" import ")
                homes.update({each.strip(): module for each in names.strip(" \n()").rstrip(",").split(",")})
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
