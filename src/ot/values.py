"""The typed values that a pack may return beside plain data: pictures, sounds, resources, records, project paths."""

from __future__ import annotations

from ot_kernel.project_path import ProjectPath
from ot_kernel.values import Audio, Image, Record, Resource

__all__ = ["Audio", "Image", "ProjectPath", "Record", "Resource"]
