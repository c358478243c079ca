"""Inside of the component: the standard library, imported ahead, and its text for what imports or shows it later."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import pkgutil
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

# Modules that cannot work here, or are not worth their size.
_LEFT_OUT = {
    "antigravity", "ensurepip", "idlelib", "lib2to3", "pip", "pydoc_data", "site-packages", "test", "this", "tkinter",
    "turtle", "turtledemo", "venv",
}  # fmt: skip
_SUBMODULES = (
    "asyncio.runners", "collections.abc", "concurrent.futures.thread", "dbm.dumb", "email.message", "email.mime.text",
    "email.parser", "html.parser", "http.client", "importlib.resources", "json.tool", "logging.handlers", "os.path",
    "sqlite3", "unittest.mock", "urllib.parse", "urllib.request", "wsgiref.util", "xml.dom.minidom",
    "xml.etree.ElementTree",
)  # fmt: skip


def load_library() -> None:
    """Import what a run may import, and keep the text of all of it: no file of the library can be read later."""
    encodings = [
        f"encodings.{found.name}" for found in pkgutil.iter_modules(importlib.import_module("encodings").__path__)
    ]
    names = (name for name in sys.stdlib_module_names if name not in _LEFT_OUT)
    for name in (*sorted(names), *_SUBMODULES, *encodings):
        try:
            importlib.import_module(name)
        except (ImportError, AttributeError, OSError, RuntimeError):
            pass  # it needs what WASI lacks, as code that imports it will be told
    root = Path(json.__file__).parents[1]
    texts = {str(path): zlib.compress(path.read_bytes(), 9) for path in root.rglob("*.py") if _is_kept(path, root)}
    _read_from(texts)
    sys.meta_path.append(_KeptModules(texts, str(root)))


def _is_kept(path: Path, root: Path) -> bool:
    return _LEFT_OUT.isdisjoint(path.relative_to(root).with_suffix("").parts)


def _read_from(texts: dict[str, bytes]) -> None:
    """Let those who load a module of the library, or show a line of it, find its text."""
    read = importlib.machinery.SourceFileLoader.get_data

    def get_data(self: importlib.machinery.SourceFileLoader, path: str) -> bytes:
        return zlib.decompress(texts[path]) if path in texts else read(self, path)

    importlib.machinery.SourceFileLoader.get_data = get_data  # type: ignore[method-assign, assignment]


class _KeptModules:
    """Finds modules of the library that were not imported ahead, or are imported anew."""

    def __init__(self, texts: dict[str, bytes], root: str) -> None:
        self._texts = texts
        self._root = root

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        place = f"{self._root}/{name.replace('.', '/')}"
        for path, folders in ((f"{place}/__init__.py", [place]), (f"{place}.py", None)):
            if path in self._texts:
                loader = importlib.machinery.SourceFileLoader(name, path)
                return importlib.util.spec_from_file_location(
                    name, path, loader=loader, submodule_search_locations=folders
                )
        return None
