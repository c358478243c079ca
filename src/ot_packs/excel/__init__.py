"""Workbooks: reading windows of them, editing and creating them."""
