"""Workbooks: reading windows of them, editing and creating them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot_packs.excel.creating import create_workbook
    from ot_packs.excel.editing import Edit, edit_workbook, save_changed
    from ot_packs.excel.sheet_changes import change_sheets, find_sheet, format_cells
    from ot_packs.excel.windows import find_formulas, find_text, page, read_window
    from ot_packs.excel.workbook import Workbook
else:  # a helper process loads the library that its call needs, and no other
    __getattr__ = lazy_names(__name__)
