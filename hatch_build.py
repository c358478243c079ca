"""Makes the component of the engine `wasm` as a wheel is made, from pinned inputs; it is never committed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg] - it asks for a configuration of its own
    """A hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            sys.path[:0] = [self.root, str(Path(self.root, "src"))]
            from scripts.build_wasm_kernel import main  # noqa: PLC0415 - found only now

            main([])
