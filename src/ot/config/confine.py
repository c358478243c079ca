"""The section that confines a program: its files, its hosts, its memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ot.config.section import Bytes, FilePath, HostName, Section
from ot.config.settings import setting
from ot.config.values import word_size
from ot_confinement.confine import Confine


class ConfineSettings(Section):
    """The access that a program has beyond its own files and its temporary folder; none if empty."""

    read: tuple[FilePath, ...] = setting((), "files and folders that it may read", example=["~/notes"])
    write: tuple[FilePath, ...] = setting((), "files and folders that it may read and write")
    hosts: tuple[HostName, ...] = setting(
        (),
        "hosts that it may reach by HTTP, on ports 80 and 443 or on `:port`; with none, it has no network",
        example=["api.github.com", "*.example.com"],
    )
    memory: Bytes | None = setting(None, "memory that all its processes together may use")

    def build(self, own: Iterable[str], *, closed: tuple[str, ...] = ()) -> Confine:
        """Return its bounds, as its guardian takes them; `own` are its own files, `closed` what folders do not open."""
        readable, writable = (*own, *map(_plain, self.read)), tuple(map(_plain, self.write))
        return Confine(readable, writable, self.hosts, self.memory, closed=closed)

    def describe(self) -> str:
        """Say in one line what it may touch."""
        parts = [f"{name} {', '.join(map(str, places))}" for name, places in _places(self) if places]
        parts.append(f"reaches {', '.join(self.hosts)}" if self.hosts else "no network")
        if self.memory is not None:
            parts.append(f"at most {word_size(self.memory)} of memory")
        return "; ".join(["its own files", *parts])


def _plain(path: Path) -> str:
    return os.path.normpath(path)


def _places(settings: ConfineSettings) -> Iterable[tuple[str, tuple[object, ...]]]:
    return (("reads", settings.read), ("writes", settings.write))
