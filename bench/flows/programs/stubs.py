"""Stands in for the libraries of model providers, which AgentDojo imports and its programs do not need."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock

_ABSENT = frozenset(
    {"anthropic", "cohere", "dotenv", "google", "openai", "requests", "tenacity", "torch", "transformers", "vertexai"}
)


class _Stub(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {}) if name[:1].isupper() else MagicMock()


class _Stubs(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        absent = fullname.partition(".")[0] in _ABSENT
        return ModuleSpec(fullname, self, is_package=True) if absent else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty."""


def install() -> None:
    """Let imports of these libraries succeed."""
    sys.meta_path.append(_Stubs())
