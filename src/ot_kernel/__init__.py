"""Everything inside a kernel; standard library only.

The engine shares with it the values that cross, the frames they cross in, and the form in which they are kept.
"""

from __future__ import annotations

__all__ = ["project_path", "stored_form", "values", "wire"]
