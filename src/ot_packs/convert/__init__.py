"""Documents as Markdown: one module a kind, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot_packs.convert.markdown import open_document
    from ot_packs.convert.ocr import convert_document
    from ot_packs.convert.parts import choose
else:  # a helper process loads the library that its call needs, and no other
    __getattr__ = lazy_names(__name__)
