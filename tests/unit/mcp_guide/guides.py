"""Guides for tests: real folders, written by hand or by the guide itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_guide.guide import Guide, open_guide
from mcp_guide.places import FOLDER, Places


def make_guide(project: Path, documents: Mapping[str, str] | None = None) -> Guide:
    """A guide whose documents are given as `category/name` and text."""
    for name, text in (documents or {}).items():
        file = project / FOLDER / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return open_guide(Places(project, project / FOLDER, named=False))
