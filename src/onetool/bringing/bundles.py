"""An `.mcpb` file: unpacked into a folder of ours, and started by what kind it is, never by the command that it names.

An archive is a stranger's: its names, sizes and links are checked before anything is written, and what it unpacks to
is counted while it is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from mcp_core.private_files import make_private
from onetool.bringing.candidate import OWN_FOLDER, Candidate, Template, Wanted, is_steering
from onetool.bringing.installing import Installed, Program, install, install_project
from onetool.bringing.projects import read_project
from ot.services.mcp_registry import BringingError, McpRegistry
from ot.workers.extension import WorkerHost

_MOST_FILES = 20_000
_MOST_BYTES = 500_000_000  # unpacked
_MOST_DOWNLOADED = 200_000_000
_LARGEST_MANIFEST = 1_000_000
_PIECE = 1 << 16
_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_LIBRARIES = re.compile(r"\$\{__dirname\}(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_CONFIG = "user_config."
_INSIDE = "bundle"  # beside which its environment is, for type uv
_LAUNCHING = {
    "run", "python", "--directory", "--project", "${__dirname}", "--directory=${__dirname}", "--project=${__dirname}",
    "--no-dev", "--frozen", "--locked", "--quiet", "-q",
}  # fmt: skip
"""Words for uv that ask for what is done anyway."""

_Text = Annotated[str, StringConstraints(max_length=2000)]


class UserConfig(BaseModel):
    title: _Text = ""
    description: _Text = ""
    required: bool = False
    sensitive: bool = False
    default: object = None


class McpConfig(BaseModel):
    command: _Text = ""
    args: list[_Text] = Field(default=[], max_length=100)
    env: dict[_Text, _Text] = Field(default={}, max_length=100)


class Server(BaseModel):
    type: Literal["node", "python", "binary", "uv"]
    entry_point: _Text
    mcp_config: McpConfig = McpConfig()


class Author(BaseModel):
    name: _Text = ""


class Manifest(BaseModel):
    name: Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9._ -]+$")]
    version: Annotated[str, StringConstraints(max_length=100, pattern=r"^[0-9][0-9A-Za-z.+_-]*$")]
    description: _Text = ""
    author: Author = Author()
    server: Server
    user_config: dict[_Text, UserConfig] = Field(default={}, max_length=100)


def read_bundle(file: Path, digest: str = "") -> Candidate:
    """Return what a bundle would start; raises BringingError. With a `digest`, it must be that file."""
    try:
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest and found != digest.lower():
            raise BringingError(f"its SHA-256 is {found}, and not the one that was given")
        with zipfile.ZipFile(file) as archive:
            _check_names(archive)
            with archive.open("manifest.json") as opened:
                manifest = Manifest.model_validate_json(opened.read(_LARGEST_MANIFEST))
            if manifest.server.type == "uv":
                read_project(archive)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BringingError(f"its manifest is not valid: {place}: {first['msg']}") from None
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise BringingError(f"{file.name} is not a bundle: {error}") from error
    server = manifest.server
    env: dict[str, Template] = {}
    for name, text in server.mcp_config.env.items():
        own_libraries = name == "PYTHONPATH" and server.type in ("python", "uv") and _LIBRARIES.fullmatch(text)
        if is_steering(name) and not own_libraries:
            raise BringingError(f"it sets the variable {name}, which changes how programs run")
        env[name] = _template(text, manifest)
    return Candidate(
        "mcpb",
        manifest.name,
        str(file),
        manifest.version,
        author=manifest.author.name,
        description=manifest.description,
        arguments=tuple(_template(word, manifest) for word in _own_arguments(server)),
        env=env,
        digest=found,
        bundle=manifest.name,
        file=file,
    )


async def fetch_bundle(candidate: Candidate, registry: McpRegistry, folder: Path) -> Candidate:
    """Download the bundle that an entry names, and return what it would start; raises BringingError."""
    file = folder / f"{candidate.digest}.mcpb"
    await registry.download(candidate.identifier, file, _MOST_DOWNLOADED)
    found = read_bundle(file, candidate.digest)
    return replace(
        candidate,
        version=found.version,
        author=found.author,
        description=found.description or candidate.description,
        arguments=found.arguments,
        env={**candidate.env, **found.env},
        bundle=found.bundle,
        file=file,
    )


def _own_arguments(server: Server) -> list[str]:
    """Return the words behind the entry point, which itself is ours to name; raises BringingError."""
    words, entry = server.mcp_config.args, server.entry_point
    if server.type == "binary":
        return words
    if server.type == "uv":
        if not entry.endswith(".py"):
            raise BringingError(f"its entry point, {entry!r}, is not a file of Python")
        if server.mcp_config.command not in ("", "uv"):
            raise BringingError("it names a program to start it with")
        while words and words[0] in _LAUNCHING:
            words = words[1:]
    if words and words[0].removeprefix("${__dirname}/") != entry:
        raise BringingError("it names arguments for the program that starts it")
    return words[1:]


def _template(text: str, manifest: Manifest) -> Template:
    """Return a text in which only its own folder and what it asks for are references; any other stands for itself."""
    parts: list[str | Wanted] = []
    place = 0
    for match in _REFERENCE.finditer(text):
        key = match[1].removeprefix(_CONFIG)
        given = manifest.user_config.get(key) if key != match[1] else None
        if match[1] != "__dirname" and given is None:
            continue
        parts.append(text[place : match.start()])
        place = match.end()
        if given is None:
            parts.append(OWN_FOLDER)
        else:
            default = str(given.default) if isinstance(given.default, str | int | float) else None
            parts.append(Wanted(key, given.description or given.title, given.sensitive, given.required, default))
    return (*parts, text[place:])


async def bring(candidate: Candidate, installed: Installed, host: WorkerHost) -> Program:
    """Install a package or a bundle beside the versions that are there; raises BringingError, then leaves nothing."""
    if candidate.kind != "mcpb":
        return await install(candidate, installed, host)
    make_private(installed.folder)
    place = installed.folder / f"{candidate.version}-{candidate.digest[:12]}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        return await _install(candidate, place, host)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise BringingError(f"it cannot be unpacked: {error.strerror or error}") from error
        raise


async def _install(candidate: Candidate, folder: Path, host: WorkerHost) -> Program:
    assert candidate.file is not None
    version = read_bundle(candidate.file, candidate.digest).version  # it may have been replaced since it was shown
    with zipfile.ZipFile(candidate.file) as archive:
        server = Manifest.model_validate_json(archive.read("manifest.json")).server
        project = read_project(archive) if server.type == "uv" else None
        inside = folder / _INSIDE if project else folder
        _unpack(archive, inside)
    entry = inside / server.entry_point
    if not entry.is_file() or not entry.resolve().is_relative_to(inside.resolve()):
        raise BringingError("it names a program that is not in it")
    if project:
        python = await install_project(project, folder, inside, host)
        return Program(folder, str(python), (str(entry),), version, _INSIDE)
    if server.type == "node":
        return Program(folder, "node", (str(entry),), version)
    if server.type == "python":
        python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
        return Program(folder, str(python) if os.access(python, os.X_OK) else "python3", (str(entry),), version)
    entry.chmod(0o700)
    return Program(folder, str(entry), (), version)


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    left = _MOST_BYTES
    for item in archive.infolist():
        place = folder / item.filename
        if item.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        left = _write(archive, item, place, left)


def _write(archive: zipfile.ZipFile, item: zipfile.ZipInfo, place: Path, left: int) -> int:
    """Write one file, and return how many bytes may follow; what its header says of its size is not believed."""
    try:
        with archive.open(item) as source, place.open("xb") as target:
            while piece := source.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise BringingError(f"it unpacks to more than {_MOST_BYTES:,} bytes")
                target.write(piece)
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise BringingError(f"{item.filename!r} of it cannot be unpacked: {error}") from error
    return left


def _check_names(archive: zipfile.ZipFile) -> None:
    items = archive.infolist()
    if len(items) > _MOST_FILES or sum(item.file_size for item in items) > _MOST_BYTES:
        raise BringingError(f"it has more than {_MOST_FILES:,} files or {_MOST_BYTES:,} bytes")
    seen: set[str] = set()
    for item in items:
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise BringingError(f"{item.filename!r} in it is a link or no plain file")
        path, name = PurePosixPath(item.filename), item.filename
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not name.isprintable():
            raise BringingError(f"{name!r} in it leads outside of its folder")
        key = str(path).casefold()
        if key in seen:
            raise BringingError(f"{name!r} is in it twice")
        seen.add(key)
