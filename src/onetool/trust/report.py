"""A report on what a project's files would do, for the person who is asked to trust them.

Everything in it was written by others: whoever prints it must make control characters visible.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ot.config.documents import parse_document
from ot.config.keys import INCLUDE
from ot.config.paths import PROMPTS_FILE, SECRETS_FILE, SKILLS, TOOLS
from ot.config.secrets import references
from ot.config.tightening import Tightening
from ot.errors import ConfigError, PackLoadError
from ot.registry.from_source import parse_pack
from ot.skills.skill_file import parse_skill
from ot.trust.project_trust import Comparison, FolderFiles
from ot.trust.store import TrustRecord
from ot.workers.discovery import SUFFIX
from ot.workers.locks import LockDamagedError, read_versions
from ot.workers.pep723 import parse_header


def describe(files: FolderFiles, record: TrustRecord, found: Comparison, *, project: Path) -> Iterator[str]:
    """Describe every file that is new, changed or gone; a changed one with the difference."""
    for name in found.untrusted:
        content, before = files.contents[name], record.copy(name)
        yield f"{name} ({'changed' if name in found.changed else 'new'}, {len(content):,} bytes)"
        yield from (f"  {line}" for line in _describe_file(name, content, files.folder, project))
        if name in found.changed and before is not None and name != SECRETS_FILE:
            yield from (f"  {line}" for line in _difference(before, content))
    for name in found.gone:
        yield f"{name} (gone)"


def _describe_file(name: str, content: bytes, folder: Path, project: Path) -> Iterator[str]:
    if name.startswith(f"{TOOLS}/") and name.endswith(".py"):
        yield from _describe_tools(name, content, folder)
    elif name.startswith(f"{SKILLS}/") and name.endswith(".py"):
        yield from _describe_skill(name, content, folder)
    elif name.startswith(f"{TOOLS}/") and name.endswith(".py.lock"):
        yield from _describe_lock(content)
    elif name == SECRETS_FILE:
        yield from _describe_secrets(content, folder / name)
    elif name.endswith(".yaml"):
        yield from _describe_configuration(name, content, folder, project)


def _describe_configuration(name: str, content: bytes, folder: Path, project: Path) -> Iterator[str]:
    try:
        document = parse_document(content, folder / name)
    except ConfigError as error:
        yield f"cannot be read: {error.reason}"
        return
    if name == PROMPTS_FILE and list(document) != ["prompts"]:
        document = {"prompts": document}
    yield from _describe_servers(document)
    left_out = _left_out(document, project)
    for path, value in _leaves(document, ()):
        key = ".".join(path)
        note = f" (ignored: {left_out[key]})" if key in left_out else ""
        first, *others = str(value).splitlines() or [""]
        yield f"{'includes' if path[0] == INCLUDE else 'sets'} {key}: {first}{note}"
        yield from (f"  | {line}" for line in others)
    named = sorted({each for _, value in _leaves(document, ()) for each in references(str(value))})
    if named:
        yield f"reads the variables or secrets: {', '.join(named)}"


def _left_out(document: Mapping[object, object], project: Path) -> dict[str, str]:
    """Return the keys that a project may not set, with the reason; none for a file that is not valid."""
    tightening = Tightening(project)
    try:
        tightening.apply({}, document)
    except (ValueError, TypeError):  # wrong types, which are reported when the file is loaded
        return {}
    return {refusal.key: refusal.reason for refusal in tightening.refused}


def _describe_servers(document: Mapping[object, object]) -> Iterator[str]:
    servers = document.get("servers")
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if isinstance(server, dict) and "command" in server:
            arguments = server.get("args")
            words = [server["command"], *(arguments if isinstance(arguments, list) else [])]
            yield f"starts, as the server {name}: {' '.join(map(str, words))}"
        if isinstance(server, dict) and "url" in server:
            yield f"connects, as the server {name}, to: {server['url']}"


def _describe_tools(name: str, content: bytes, folder: Path) -> Iterator[str]:
    try:
        file = folder / name
        own_folder = file.name == f"{file.parent.name}{SUFFIX}"
        pack = parse_pack(content, file, name=file.parent.name if own_folder else file.stem)
    except PackLoadError as error:
        yield f"cannot be read: {error.reason}"
        return
    tools = ", ".join(pack.tools) or "none"
    yield f"runs as you, as the pack {pack.name}, when one of its tools is called: {tools}"
    secrets = sorted({secret for tool in pack.tools.values() for secret in tool.secrets})
    if secrets:
        yield f"reads the secrets: {', '.join(secrets)}"
    header, _ = parse_header(content.decode("utf-8-sig", "replace"))
    if header is not None and header.dependencies:
        yield f"installs: {', '.join(header.dependencies)}"
    if header is not None and header.tool:
        yield f"configures uv: {header.tool}"


def _describe_skill(name: str, content: bytes, folder: Path) -> Iterator[str]:
    try:
        skill = parse_skill(content, folder / name)
    except PackLoadError as error:
        yield f"cannot be used: {f'line {error.line}: ' if error.line else ''}{error.reason}"
        return
    yield f"code that runs confined, with access to all your tools, when a run calls {skill.definition.signature}"
    yield from (f"  | {line}" for line in skill.text.splitlines())


def _describe_lock(content: bytes) -> Iterator[str]:
    try:
        versions = read_versions(content)
    except LockDamagedError as error:
        yield f"cannot be read: {error}"
        return
    addresses = re.findall(r"[a-z+]+://[^/\"'\s]+", content.decode())
    yield f"locks {len(versions)} packages, from: {', '.join(sorted(set(addresses))) or 'folders'}"


def _describe_secrets(content: bytes, file: Path) -> Iterator[str]:
    try:
        yield f"contains the secrets: {', '.join(map(str, parse_document(content, file, private=True)))}"
    except ConfigError as error:
        yield f"cannot be read: {error.reason}"


def _difference(before: bytes, content: bytes) -> Iterator[str]:
    try:
        old, new = before.decode().splitlines(), content.decode().splitlines()
    except UnicodeDecodeError:
        return
    lines = difflib.unified_diff(old, new, "as you trusted it", "as it is now", lineterm="", n=2)
    yield from lines


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, (*path, str(name)))
    elif path:
        yield path, value
