"""The tools that a configuration gives, in a registry: built-in packs, extensions, skills and servers.

Commands that list them need nothing else of the engine, and nothing is started here.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.loading import LOADING_PROTOCOL
from ot.clients.front import KnownClients
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.config.paths import PROMPTS_FILE, SECRETS_FILE, SKILLS, skill_folders, state_folder, tool_folders
from ot.config.project_trust import project_trust
from ot.errors import UntrustedPackError, WrongAliasError, WrongSettingsError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.parts.person_overlay import personal_store_of
from ot.proxy import ProxyHost, Servers
from ot.registry.definition_cache import DEFINITIONS_FILE, DefinitionCache
from ot.registry.from_source import read_pack
from ot.registry.names import identifier, modest_name
from ot.registry.places import PackPlaces
from ot.registry.registry import AbsentPack, ToolRegistry
from ot.registry.tool_loader import ToolLoader
from ot.registry.tool_threads import ToolThreads
from ot.skills.skill_loader import SkillLoader
from ot.store.logins import PendingLogins
from ot.store.parts import PersonalStore
from ot.store.shelf import Shelf
from ot.workers.discovery import ToolFolder
from ot.workers.extension import WorkerHost
from ot.workers.extension_loader import ExtensionLoader, FunctionOf

if TYPE_CHECKING:
    from ot.proxy import BuildConnection

BUILT_IN_PACKS = "ot_tools"


def load_registry(
    folders: Sequence[Path], isolates: IsolateHost, threads: ToolThreads, cache: DefinitionCache | None = None
) -> ToolRegistry:
    """Every tool there is, read from its source or as it was read before: no pack is imported."""
    registry = ToolRegistry()
    read = read_pack if cache is None else cache.read
    loader = ToolLoader(registry, isolate=isolates, threads=threads, read=read)
    for folder in folders:
        loader.load_folder(folder)
    return registry


def load_built_in(loaded: LoadedConfig) -> ToolRegistry:
    """Every built-in tool, those that are switched off too, for a command that calls none of them."""
    cache = DefinitionCache(state_folder(loaded.home) / DEFINITIONS_FILE)
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads(), cache)
    cache.save()
    return registry


def find_built_in_packs() -> list[Path]:
    """Built-in packs are found on disk, as extensions are; the engine does not import them."""
    spec = importlib.util.find_spec(BUILT_IN_PACKS)
    return [Path(place) for place in (spec.submodule_search_locations if spec is not None else None) or ()]


def reads_of(config: Config) -> dict[str, tuple[str, ...]]:
    """Return the patterns of tools that only read, as the person says, by pack."""
    return {name: pack.reads for name, pack in config.packs.items() if pack.reads}


def note_absent(registry: ToolRegistry, loaded: LoadedConfig) -> None:
    """Let the registry know what is not here because its settings are wrong, or nobody has trusted it, by name."""
    packs = {mistake.pack: word_error(mistake.error) for mistake in reversed(loaded.mistakes) if mistake.pack}
    packs |= wrong_entries(loaded, "servers")
    wrong = {identifier(name, fallback="server"): mistake for name, mistake in packs.items()}
    off = {name: AbsentPack(partial(WrongSettingsError, name, each), expected=True) for name, each in wrong.items()}
    aliases = wrong_entries(loaded, "aliases").items()
    registry.explain_aliases({name: partial(WrongAliasError, name, mistake) for name, mistake in aliases})
    registry.explain_absent("mistakes", off)
    servers = [server for server in loaded.untrusted.servers if server not in loaded.config.servers]
    names = [modest_name(identifier(server, fallback="server")) for server in servers]
    explain = partial(UntrustedPackError, project=str(loaded.untrusted.project))
    changed = (name for name in loaded.untrusted.changed if name not in (PROMPTS_FILE, SECRETS_FILE))
    registry.explain_changed("configuration", loaded.untrusted.project, changed)
    registry.explain_absent("untrusted", {each: AbsentPack(partial(explain, each), expected=False) for each in names})


def wrong_entries(loaded: LoadedConfig, section: str) -> dict[str, str]:
    """Return the names in a section that are off because of a mistake, and each one's first mistake in words."""
    found = [mistake for mistake in loaded.mistakes if mistake.entry[0] == section and len(mistake.entry) > 1]
    return {mistake.entry[1]: word_error(mistake.error) for mistake in reversed(found)}


def load_extensions(
    registry: ToolRegistry,
    places: PackPlaces,
    loaded: LoadedConfig,
    function_of: FunctionOf,
    *,
    forget: Callable[[Path], None] = lambda _: None,
) -> ExtensionLoader:
    """The person's own packs beside those in the registry, read from their source too."""
    folders = with_trust(tool_folders(loaded.project, loaded.machine_home), loaded)
    timeout = loaded.config.workers.call_timeout
    loader = ExtensionLoader(registry, folders, function_of, timeout=timeout, places=places, forget=forget)
    loader.load()
    return loader


def load_skills(
    registry: ToolRegistry, places: PackPlaces, loaded: LoadedConfig, shelf: Shelf | None = None
) -> SkillLoader:
    """The skills of the project and of the person, read from their source; one of many people has them on a shelf."""
    folders = with_trust(skill_folders(loaded.project, loaded.machine_home), loaded)
    own = shelf.below(SKILLS) if shelf is not None and loaded.administrator is not None else None
    if own is not None:
        folders = [ToolFolder(own.folder), *folders]
    loader = SkillLoader(registry, places, folders, home=loaded.home, redact=loaded.redactor.text, own=own)
    loader.load()
    return loader


def with_trust(folders: tuple[Path, Path], loaded: LoadedConfig) -> list[ToolFolder]:
    """Return the project's folder and the person's; what is in the project's counts as the person has trusted it."""
    near, far = folders
    trust = project_trust(loaded.project, loaded.machine_home)
    return [ToolFolder(far)] if trust is None else [ToolFolder(near, trust), ToolFolder(far)]


def show_servers(registry: ToolRegistry, places: PackPlaces, loaded: LoadedConfig) -> Servers:
    """Register the servers as they were last seen, for commands that connect to none."""
    servers = Servers(registry, places, proxy_host(loaded, os.environ), None)
    servers.show(loaded.config.servers)
    return servers


def proxy_host(
    loaded: LoadedConfig,
    environ: Mapping[str, str],
    clients: KnownClients | None = None,
    *,
    personal: PersonalStore | None = None,
    pending: PendingLogins | None = None,
) -> ProxyHost:
    """Build the surroundings that the servers of a configuration live in; those of many people log in at `pending`."""
    url = loaded.config.auth.public_url if loaded.administrator is not None else None
    own = personal or personal_store_of(loaded)
    logins = None
    if pending is not None and url is not None:
        from ot.proxy.plan import TeamIssuer, TeamLogins  # noqa: PLC0415 - only many people log in that way

        auth = loaded.config.auth
        known = auth.issuer is not None and auth.client_id is not None
        issuer = TeamIssuer(auth.issuer or "", auth.client_id or "", auth.client_secret) if known else None
        logins = TeamLogins(pending, loaded.principal, url, issuer)
    return ProxyHost(
        project=loaded.project,
        shelf=own.shelf,
        credentials=own.credentials,
        logins=logins,
        environ=environ,
        load_builder=load_connection_builder,
        pin_tools=loaded.config.security.pin_tools,
        learn=loaded.redactor.learn,
        redact=loaded.redactor.text,
        clients=clients or KnownClients(),
    )


def worker_host(loaded: LoadedConfig, environ: Mapping[str, str]) -> WorkerHost:
    home = loaded.machine_home
    always = loaded.administrator is not None
    return WorkerHost(loaded.project, home, state_folder(home), environ, word=word_error, always_confined=always)


def load_connection_builder() -> BuildConnection:
    """Load the client side of the SDK, which is not needed before a server is connected."""
    with LOADING_PROTOCOL:
        from ot.proxy import build_connection  # noqa: PLC0415 - as its docstring says

    return build_connection
