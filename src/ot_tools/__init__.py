"""The built-in packs, one file each; the engine finds them on disk and imports one when it is first called.

Nothing here is for others to import: tools are called through the engine.
"""

from __future__ import annotations

__all__: list[str] = []
