"""What building the distribution adds: the component of the engine `wasm`, and what PyPI shows.

The component is made from pinned inputs and never committed. PyPI knows no files beside README, so its pictures and
links get addresses in the publisher's repository, at the tag of the version; in a checkout they stay relative.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)(\[[^\]\n]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg] - it asks for a configuration of its own
    """A hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            sys.path[:0] = [self.root, str(Path(self.root, "src"))]
            from scripts.build_wasm_kernel import main  # noqa: PLC0415 - found only now

            main([])


class PageHook(MetadataHookInterface):
    """Another hook of hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        publisher = tomllib.loads(Path(self.root, "publishing/publisher.toml").read_text(encoding="utf-8"))
        repository = publisher["repository"]
        version = re.search(r'^VERSION = "(.+?)"', self._read("src/mcp_core/distribution.py"), re.MULTILINE)
        assert version is not None, "src/mcp_core/distribution.py has no VERSION"

        def address(found: re.Match[str]) -> str:
            picture, words, file = found.groups()
            return f"{picture}{words}({repository}/{'raw' if picture else 'blob'}/v{version[1]}/{file})"

        page = _RELATIVE.sub(address, self._read("README.md"))
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        metadata["authors"] = [{"name": publisher["author"]}]

    def _read(self, file: str) -> str:
        return Path(self.root, file).read_text(encoding="utf-8")
