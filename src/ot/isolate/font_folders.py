"""Where fonts are installed, for tools that draw."""

from __future__ import annotations

from pathlib import Path

_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts", "~/.fonts", "~/.local/share/fonts")


def font_folders() -> list[Path]:
    """Return the folders with fonts, and with what says which one stands for which, that there are."""
    return [folder for text in _FOLDERS if (folder := Path(text).expanduser()).is_dir()]
