"""A person whose pip and npm are configured with registries of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_OTHERS = ("PIP_", "UV_", "npm_config_", "NPM_CONFIG_", "XDG_CONFIG_HOME", "NETRC")


def configure(monkeypatch: pytest.MonkeyPatch, *, pypi: str = "", npm: str = "", files: bool = False) -> None:
    """Let variables name the registries; what this machine itself is configured with counts for nothing.

    With `files`, those in the person's home count too.
    """
    for name in list(os.environ):
        if name.startswith(_OTHERS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("npm_config_globalconfig", os.devnull)
    if not files:
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("UV_NO_CONFIG", "1")
        monkeypatch.setenv("npm_config_userconfig", os.devnull)
        monkeypatch.setenv("NETRC", os.devnull)
    if pypi:
        monkeypatch.setenv("PIP_INDEX_URL", pypi)
    if npm:
        monkeypatch.setenv("npm_config_registry", npm)


def write(home: Path, name: str, text: str) -> Path:
    """Write a file of the person's home."""
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file
