"""`onetool lock [PACK]`: list the locked versions of extensions' dependencies, or upgrade them."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

import anyio

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.definitions import read_definitions
from onetool.cli.printing import add_json_argument, complain, say, say_json
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import worker_host
from ot.workers.extension import Extension
from ot.workers.installing import Installer
from ot.workers.uv_program import PreparationError

EPILOG = (
    "Without PACK, lists all extensions that have dependencies. The first call creates a lock in "
    "~/.onetool/state/locks, which is used until it is removed or the header changes. FILE.lock beside an extension, "
    "as written by `uv lock --script FILE`, takes precedence."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pack", nargs="?", metavar="PACK", help="the extension whose dependencies to lock now")
    parser.add_argument("--upgrade", action="store_true", help="upgrade to the newest versions that its header allows")
    add_json_argument(parser, "without PACK: print JSON")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    _, extensions = read_definitions(loaded)
    if options.pack is None:
        if options.upgrade:
            complain("onetool: --upgrade needs the name of a PACK")
            return USAGE
        if options.json:
            say_json([_describe(pack, installer_of(loaded, each)) for pack, each in sorted(extensions.items())])
            return OK
        for line in _list(loaded, extensions):
            say(line)
        return OK
    if options.pack not in extensions:
        complain(
            f"onetool: there is no extension {options.pack!r} with dependencies. Extensions: "
            f"{', '.join(sorted(extensions)) or 'none'}"
        )
        return USAGE
    return anyio.run(_lock, options.pack, installer_of(loaded, extensions[options.pack]), options.upgrade)


def installer_of(loaded: LoadedConfig, extension: Extension) -> Installer:
    """Return the installer of an extension's dependencies."""
    assert extension.header is not None
    return Installer(extension.source, extension.header, worker_host(loaded, os.environ), lambda _: None)


def _list(loaded: LoadedConfig, extensions: dict[str, Extension]) -> Iterator[str]:
    for pack, extension in sorted(extensions.items()):
        yield f"{pack}: {describe_lock(installer_of(loaded, extension))}"
    if not extensions:
        yield "No extension has dependencies."


def describe_lock(installer: Installer) -> str:
    """Return the locked versions of an extension's dependencies, in one line."""
    lock = installer.lock
    try:
        versions = installer.versions()
    except PreparationError as error:
        return str(error)
    if lock.kind == "none":
        return "not locked: a package comes from a local folder"
    if lock.content() is None:
        return "not locked yet; the first call locks it"
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return f"{listed or 'nothing to install'} ({lock.file})"


def _describe(pack: str, installer: Installer) -> dict[str, object]:
    try:
        versions, error = installer.versions(), ""
    except PreparationError as damaged:
        versions, error = {}, str(damaged)
    locked = installer.lock.kind != "none" and installer.lock.content() is not None
    return {"pack": pack, "locked": locked, "file": str(installer.lock.file), "versions": versions, "error": error}


async def _lock(pack: str, installer: Installer, upgrade: bool) -> int:  # noqa: FBT001 - anyio.run passes no names
    if installer.lock.kind != "kept":
        why = "has its own lock file" if installer.lock.kind == "shipped" else "uses a package from a local folder"
        complain(f"onetool: {pack} {why}; `uv lock --script {installer.lock.script}` changes it")
        return FAILED
    try:
        changes = await installer.resolve(upgrade=upgrade)
    except PreparationError as error:
        complain(f"onetool: {pack}: {error}")
        return FAILED
    for change in changes:
        say(change)
    say(f"Locked {pack} ({installer.lock.file})." if changes else f"Nothing has changed ({installer.lock.file}).")
    return OK
