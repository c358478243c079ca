"""The answers of registries and the files of projects, read in one kind of helper process."""

from __future__ import annotations

from ot_packs.package.manifests import read_project
from ot_packs.package.npm_releases import read_document, read_manifest
from ot_packs.package.python_releases import read_about, read_index

__all__ = ["read_about", "read_document", "read_index", "read_manifest", "read_project"]
