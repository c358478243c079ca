"""The configuration: its mistakes, the trust in a project, secrets, and databases with their roles."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio

from mcp_core.json_types import mapping_of
from onetool.doctor import Finding, edit, green, red, yellow
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, SECRETS_FILE, state_folder
from ot.config.project_trust import project_trust
from ot.errors import CallError, ConfigError, ToolError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.registry.definitions import Libraries
from ot.registry.registry import ToolRegistry
from ot.trust.project_trust import trust_command
from ot.workers.pack_environments import LibraryState, find_environment, is_installed, state_of
from ot_packs.db.addresses import ServerAddress, read_connection
from ot_packs.db.database import PACK, excess_rights


def look_at_configuration(
    loaded: LoadedConfig, mistakes: Sequence[ConfigError], problems: Sequence[str]
) -> Iterator[Finding]:
    """Report every mistake, and the files that were read; `problems` are valid settings that do not work here."""
    yield from map(word_mistake, mistakes)
    for problem in problems:
        yield red("configuration", problem, edit(loaded.files[0] if loaded.files else None))
    for refusal in loaded.refused:
        text = f"{refusal.key} of the project is left out: {refusal.reason}"
        yield yellow("configuration", text, edit(loaded.home / FOLDER / "onetool.yaml"))
    for file, renamed in loaded.renamed:
        yield yellow("configuration", f"{file}: {renamed.words}", edit(file))
    if not mistakes and not problems:
        files = ", ".join(map(str, loaded.files)) or "no file, only defaults"
        yield green("configuration", f"no mistakes ({files})")


def word_mistake(mistake: ConfigError) -> Finding:
    return red("configuration", word_error(mistake), edit(mistake.file))


def look_at_trust(loaded: LoadedConfig) -> Iterator[Finding]:
    trust = project_trust(loaded.project, loaded.home)
    if trust is None or not trust.folder.exists():
        yield green("trust", f"{loaded.project} has no {FOLDER} that needs your trust")
        return
    found = trust.compare()
    for name in found.untrusted:
        state = "has changed since you trusted it" if name in found.changed else "is not trusted"
        yield yellow("trust", f"{FOLDER}/{name} {state}, so it is ignored", trust_command(loaded.project))
    for line in found.refused:
        yield red("trust", f"{FOLDER}/{line}", f"ls -la {shlex.quote(str(trust.folder))}")
    if not found.untrusted and not found.refused:
        yield green("trust", f"everything in {trust.folder} is trusted")


def look_at_secrets(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[Finding]:
    """Report packs whose secret is missing; a pack in the configuration is meant to be used."""
    lacking: dict[str, list[str]] = {}
    for tool in registry.definitions():
        missing = [name for name in tool.secrets if not loaded.secrets.has(name)]
        if missing and len(missing) == len(tool.secrets):  # any one of several is enough
            lacking[tool.pack] = missing
    file = loaded.home / FOLDER / SECRETS_FILE
    for pack in sorted(lacking.keys() & loaded.config.packs.keys()):
        # Only its owner may read the file.
        fix = f"(umask 077; echo {shlex.quote(f'{lacking[pack][0]}: VALUE')} >> {shlex.quote(str(file))})"
        yield yellow("secrets", f"pack {pack} needs the secret {' or '.join(lacking[pack])}", fix)
    unnamed = sorted(lacking.keys() - loaded.config.packs.keys())
    others = ", ".join(f"{pack} ({' or '.join(lacking[pack])})" for pack in unnamed)
    count = len(loaded.secrets.known_values())
    unused = f"; other packs that need one: {others}" if others else ""
    yield green("secrets", f"{count} {'is' if count == 1 else 'are'} known and masked{unused}")


def find_connection_mistakes(loaded: LoadedConfig) -> Iterator[str]:
    for name, entry in _connections(loaded).items():
        try:
            read_connection(name, entry)
        except ToolError as error:
            yield error.message


def advise_on_roles(loaded: LoadedConfig, registry: ToolRegistry) -> list[str]:
    """Return the rights of each connection's role that reading does not need; connects to each server.

    The libraries for this may be in an environment of their own; they are not installed for it.
    """
    servers: dict[str, ServerAddress] = {}
    for name, entry in _connections(loaded).items():
        with suppress(ToolError):
            address = read_connection(name, entry)
            servers |= {f"packs.db.connections.{name}": address} if isinstance(address, ServerAddress) else {}
    if not servers:
        return []
    libraries = registry.pack(PACK).libraries
    assert libraries is not None
    state = state_folder(loaded.home)
    if state_of(state, libraries) is LibraryState.MISSING:
        return [f"{key}: run `onetool fetch {PACK}` to have its role checked" for key in servers]
    advice = dict.fromkeys(servers, "")

    async def find_python(wanted: Libraries) -> Path | None:
        return None if is_installed(wanted) else find_environment(state, wanted).python

    async def look(key: str, host: IsolateHost) -> None:
        try:
            held = await excess_rights(host, servers[key], libraries)
        except CallError as error:
            advice[key] = f"{key} cannot be checked: {word_error(error)}"
        else:
            text = f"{key}: its role {', '.join(held)}; use a role that can only read what you need"
            advice[key] = text if held else ""

    async def look_at_all() -> None:
        async with IsolateHost(find_python=find_python) as host, anyio.create_task_group() as looking:
            for key in servers:
                looking.start_soon(look, key, host)

    anyio.run(look_at_all)
    return list(filter(None, advice.values()))


def _connections(loaded: LoadedConfig) -> Mapping[str, object]:
    settings = loaded.config.packs.get("db")
    return mapping_of(settings and settings.enabled is not False and settings.options.get("connections"))
