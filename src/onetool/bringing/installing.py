"""Packages installed once, in a folder of their own: versions locked by digest, and no script of theirs is run.

npm installs with `--ignore-scripts`, and every package in its lock must have a digest; uv takes wheels only, by a list
with the digests of all of them, also for a bundle. The command is the interpreter with the package's own program,
whatever its entry says.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_core.json_types import Json, mapping_of
from mcp_core.private_files import make_private
from onetool.bringing.candidate import Candidate
from onetool.bringing.projects import LOCK, PROJECT, Project
from ot.processes.run_program import run_program
from ot.services.mcp_registry import BringingError
from ot.workers.extension import WorkerHost, uv_environment
from ot.workers.uv_program import PreparationError, required_uv

CURRENT = "current"
_ORIGIN = "origin.json"
_LIST = "requirements.txt"
_LONGEST_OUTPUT = 16 * 1024 * 1024
_MOST_JSON = 64 * 1024 * 1024
_PINNED = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9._+!]+( ; [ -\[\]-~]+)?( \\)?"
    r"|    --hash=[a-z0-9]+:[0-9a-f]+( \\)?"
)
_NPM = re.compile(r"(PATH|NPM_CONFIG_.*|NODE_EXTRA_CA_CERTS)", re.IGNORECASE)


@dataclass(frozen=True)
class Program:
    """An installed version: its folder, its command with the words before its own arguments, and its version."""

    folder: Path
    command: str
    arguments: tuple[str, ...]
    version: str
    inside: str = ""  # the part of the folder that a bundle was unpacked into, if not all of it

    def by_way_of(self, link: Path) -> Program:
        """Return the same, reached by a link to its folder."""

        def led(word: str) -> str:
            inside = Path(word)
            return str(link / inside.relative_to(self.folder)) if inside.is_relative_to(self.folder) else word

        return replace(self, command=led(self.command), arguments=tuple(map(led, self.arguments)))


@dataclass(frozen=True)
class Installed:
    """The folder of one server in the state folder: its versions, the link to the one in use, and its origin."""

    folder: Path

    @property
    def link(self) -> Path:
        return self.folder / CURRENT

    def use(self, program: Program) -> None:
        """Let the link lead to a version; whoever starts the server sees the old one or the new one."""
        new = self.folder / f".{CURRENT}-{os.getpid()}"
        new.unlink(missing_ok=True)
        new.symlink_to(program.folder.name)
        new.replace(self.link)

    def note(self, origin: Mapping[str, Json]) -> None:
        (self.folder / _ORIGIN).write_text(json.dumps(dict(origin), indent=2), encoding="utf-8")

    def origin(self) -> Mapping[str, Json] | None:
        """Return where it comes from; None if it was not brought in."""
        try:
            return mapping_of(json.loads((self.folder / _ORIGIN).read_bytes())) or None
        except (OSError, ValueError):
            return None


def origin_of(candidate: Candidate, program: Program) -> dict[str, Json]:
    """Return what is kept of where a server comes from, for its updates."""
    facts = (candidate.kind, candidate.name, candidate.package, candidate.publisher, program.version, candidate.bundle)
    return dict(zip(("kind", "name", "identifier", "publisher", "version", "bundle"), facts, strict=True))


async def install(candidate: Candidate, installed: Installed, host: WorkerHost) -> Program:
    """Install a package beside the versions that are there; raises BringingError, and leaves nothing then."""
    make_private(installed.folder)
    folder = installed.folder / f".new-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        version, lock = await (_lock_npm if candidate.kind == "npm" else _lock_pypi)(candidate, folder, host)
        if candidate.version and version != candidate.version:
            raise BringingError(f"version {candidate.version} was wanted, and {version} would be installed")
        place = installed.folder / f"{version}-{hashlib.sha256(lock).hexdigest()[:12]}"
        if place.exists():
            shutil.rmtree(place)
        folder.rename(place)
        try:
            if candidate.kind == "npm":
                await _run_npm(["ci", "--ignore-scripts"], place, host)
                return _program_of_npm(candidate.identifier, place, version)
            await _install_wheels(place, host)
            return _program_of_wheel(candidate.identifier, place, version)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    except OSError as error:
        raise BringingError(f"it cannot be installed: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _lock_npm(candidate: Candidate, folder: Path, host: WorkerHost) -> tuple[str, bytes]:
    """Have npm choose versions, and refuse what has no digest; returns the version of the package, and the lock."""
    (folder / "package.json").write_text('{"private": true}')
    spec = f"{candidate.identifier}@{candidate.version or 'latest'}"
    await _run_npm(["install", "--ignore-scripts", "--package-lock-only", "--save-exact", spec], folder, host)
    lock = (folder / "package-lock.json").read_bytes()
    packages = mapping_of(mapping_of(_parsed(lock)).get("packages"))
    for name, each in packages.items():
        if name and not mapping_of(each).get("inBundle") and not mapping_of(each).get("integrity"):
            raise BringingError(
                f"it needs {name.removeprefix('node_modules/')} from a place that gives no digest of it"
            )
    own = mapping_of(packages.get(f"node_modules/{candidate.identifier}"))
    return str(own.get("version", "")), lock


async def _run_npm(words: list[str], folder: Path, host: WorkerHost) -> None:
    npm = shutil.which("npm", path=host.environ.get("PATH"))
    if npm is None:
        raise BringingError("npm, which installs it, was not found; install Node.js")
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--allow-git=none"]
    own = {name: value for name, value in host.environ.items() if _NPM.fullmatch(name)}
    done = await run_program(
        [npm, *words, *quiet], environ={**uv_environment(host.environ), **own}, cwd=folder, output_limit=_LONGEST_OUTPUT
    )
    if done.status != 0:
        raise BringingError(f"it cannot be installed. npm says:\n{done.tail}")


def _program_of_npm(identifier: str, place: Path, version: str) -> Program:
    package = place / "node_modules" / identifier
    named = mapping_of(_parsed((package / "package.json").read_bytes())).get("bin")
    last = identifier.rpartition("/")[2]
    programs = {last: named} if isinstance(named, str) else mapping_of(named)
    chosen = programs.get(last) if last in programs else next(iter(programs.values()), None)
    if not isinstance(chosen, str) or (len(programs) > 1 and last not in programs):
        raise BringingError(f"{identifier} has no program of its own name: {', '.join(programs) or 'it has none'}")
    file = package / chosen
    if not file.is_file() or not file.resolve().is_relative_to(package.resolve()):
        raise BringingError(f"{identifier} names a program that is not in it")
    return Program(place, "node", (str(file),), version)


async def _lock_pypi(candidate: Candidate, folder: Path, host: WorkerHost) -> tuple[str, bytes]:
    """Have uv choose wheels by their digests; returns the version of the package, and the list."""
    spec = f"{candidate.identifier}=={candidate.version}" if candidate.version else candidate.identifier
    (folder / "requirements.in").write_text(f"{spec}\n")
    await _compile("requirements.in", folder, host)
    lock = (folder / _LIST).read_bytes()
    wanted = _normal(candidate.identifier)
    lines = (line.partition(";")[0].split()[0].partition("==") for line in lock.decode().splitlines() if "==" in line)
    version = next((version for name, _, version in lines if _normal(name.partition("[")[0]) == wanted), "")
    return version, lock


async def _compile(requirements: str, folder: Path, host: WorkerHost) -> None:
    words = ["compile", requirements, "--output-file", _LIST, "--generate-hashes", "--no-header"]
    words += ["--no-annotate", "--no-emit-index-url", "--no-build", "--python", sys.executable]
    await _run_uv(["pip", *words], folder, host)


async def install_project(project: Project, place: Path, inside: Path, host: WorkerHost) -> Path:
    """Install what the project of a bundle needs, by its lock if it has one; returns the interpreter of that."""
    (place / PROJECT).write_text(project.as_toml(), encoding="utf-8")
    if project.lock:
        (place / LOCK).write_text(project.lock, encoding="utf-8")
        words = ["export", "--frozen", "--no-default-groups", "--no-emit-project", "--no-header", "--no-annotate"]
        await _run_uv([*words, "--python", sys.executable, "--output-file", _LIST], place, host)
    else:
        await _compile(PROJECT, place, host)
    await _install_wheels(place, host)
    _let_modules_be_found(place / "venv", inside)
    return place / "venv" / "bin" / "python"


def _let_modules_be_found(environment: Path, folder: Path) -> None:
    """Do what an editable install would, without the build backend of the project."""
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "_bundle.pth").write_text(f"{folder / 'src'}\n{folder}\n", encoding="utf-8")


async def _install_wheels(place: Path, host: WorkerHost) -> None:
    # A list has options too, which a marker in a stranger's lock could have put there.
    for line in (place / _LIST).read_text(encoding="utf-8").splitlines():
        if not _PINNED.fullmatch(line):
            raise BringingError(f"the list of what it needs has {line[:200]!r} in it, which is no package")
    # Its interpreter is never started here, as that would already run what a wheel has put into a `.pth` file.
    await _run_uv(["venv", "--python", sys.executable, "--no-project", "venv"], place, host)
    words = ["pip", "sync", "--python", "venv", "--require-hashes", "--no-build", _LIST]
    await _run_uv(words, place, host)


async def _run_uv(words: list[str], folder: Path, host: WorkerHost) -> None:
    try:
        command = [str(required_uv(host)), *words, "--color", "never", "--no-progress"]
    except PreparationError as error:
        raise BringingError(str(error)) from error
    environ = uv_environment(host.environ)
    done = await run_program(command, environ=environ, cwd=folder, output_limit=_LONGEST_OUTPUT)
    if done.status != 0:
        raise BringingError(f"it cannot be installed. uv says:\n{done.tail}")


def _program_of_wheel(identifier: str, place: Path, version: str) -> Program:
    scripts: dict[str, str] = {}
    for file in place.glob("venv/lib/python*/site-packages/*.dist-info/entry_points.txt"):
        if _normal(file.parent.name.partition("-")[0]) == _normal(identifier):
            parser = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
            try:
                parser.read_string(file.read_text(encoding="utf-8"))
            except (ConfigParserError, UnicodeDecodeError):
                continue
            scripts |= dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {}
    own = next((name for name in scripts if _normal(name) == _normal(identifier)), None)
    chosen = own or (next(iter(scripts)) if len(scripts) == 1 else None)
    if chosen is None or "/" in chosen or chosen.startswith("."):
        raise BringingError(f"{identifier} has no program of its own name: {', '.join(scripts) or 'it has none'}")
    file = place / "venv" / "bin" / chosen
    if not file.is_file():
        raise BringingError(f"{identifier} names a program that is not in it")
    return Program(place, str(file), (), version)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _parsed(content: bytes) -> Json:
    if len(content) > _MOST_JSON:
        raise BringingError("npm has written a file that is too large")
    try:
        found: Json = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BringingError(f"npm has written no JSON: {error}") from error
    return found
