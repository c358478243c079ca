"""Every configured MCP server as a pack in the registry, connected when it is needed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass
from ot.config.server_settings import ServerSettings
from ot.errors import PackLoadError, ToolChangedError, ToolError
from ot.proxy import late_parts
from ot.registry.definitions import PROXY, PackDefinition
from ot.registry.from_schema import REFUSED
from ot.registry.names import absent_name, identifier, rename_pack
from ot.registry.places import OfferedPack, PackPlaces
from ot.registry.registry import AbsentPack, LoadedPack, ToolRegistry
from ot.tasks.large_values import make_many
from ot.tasks.owned_tasks import open_background_tasks

if TYPE_CHECKING:
    from ot.proxy.definitions.pins import Offer
    from ot.proxy.host import ProxyHost
    from ot.proxy.late_parts import Acceptance, BuiltPack, Listed, ProxiedServer, ServerStatus

    MadeOf = list[tuple[ProxiedServer, Offer | None, tuple[int, ...]]]

_GOODBYE = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Unlisted:
    """The servers whose tools a listing cannot show, because nothing is known of them."""

    connecting: list[str]
    failed: list[str]  # of those that the listing could show


@dataclass(eq=False)
class Servers:
    """All servers; opened by `open_servers`, and lent to packs that look at servers."""

    _registry: ToolRegistry
    _places: PackPlaces
    _host: ProxyHost
    _tasks: TaskGroup | None
    ahead: bool = True  # connects servers of which nothing is known before anybody asks

    def __post_init__(self) -> None:
        self._servers: dict[str, ProxiedServer] = {}
        self._packs: dict[str, PackDefinition] = {}  # what each server wants in the registry, by the server's name
        self._prepared: dict[str, tuple[PackDefinition, BuiltPack]] = {}  # definitions that nobody has looked at yet
        self._problems: dict[str, list[PackLoadError]] = {}
        self._listed: tuple[MadeOf, Listed] | None = None  # with what it was made of

    def show(self, settings: Mapping[str, ServerSettings]) -> None:
        """Take over the configured servers with what is known about them; none is connected."""
        self._servers = {name: self._build(name, each) for name, each in settings.items()}
        self._offer()

    def begin(self, settings: Mapping[str, ServerSettings]) -> None:
        """Take over the configured servers; unknown ones are connected in the background, if ahead."""
        self.show(settings)
        self._connect_unknown()

    async def apply(self, settings: Mapping[str, ServerSettings]) -> None:
        """Follow a new configuration; servers that are as before stay, calls in flight go on."""
        gone = [server for name, server in self._servers.items() if settings.get(name) != server.settings]
        kept = {name: server for name, server in self._servers.items() if server not in gone}
        for server in gone:
            assert self._tasks is not None
            self._tasks.start_soon(server.retire)
            self._packs.pop(server.name, None)
            self._forget_problems(server.name)
        self._servers = {name: kept.get(name) or self._build(name, each) for name, each in settings.items()}
        for server in gone:
            if (successor := self.named(server.name)) is not None and server.watched.addresses:
                successor.watched = server.watched
                successor.connect_soon()
        self._offer()
        self._connect_unknown()

    def _connect_unknown(self) -> None:
        for server in self._enabled() if self.ahead else ():
            if not server.memory.known:
                server.connect_soon()

    def choose(self, name: str = "") -> list[ProxiedServer]:
        """Return all usable servers, or the one with this name or pack; raises ToolError or SwitchedOffError."""
        enabled = sorted(self._enabled(), key=lambda server: server.name)
        if not name:
            return enabled
        disabled = (server for server in self._servers.values() if server not in enabled)
        for server in (*enabled, *disabled):
            if name in (server.name, self.pack_name(server.name)):
                if not server.settings.enabled:
                    raise server.unavailable()
                return [server]
        known = ", ".join(server.name for server in enabled) or "none"
        raise ToolError(f"there is no server {name!r}. Servers: {known}")

    @property
    def redact(self) -> Callable[[str], str]:
        """Takes secrets out of a text."""
        return self._host.redact

    def named(self, name: str) -> ProxiedServer | None:
        """Return the usable server that the configuration calls this."""
        server = self._servers.get(name)
        return server if server is not None and server.settings.enabled else None

    async def listed(self) -> Listed:
        """Return what servers have beside tools, as it is remembered: none is connected for it."""
        servers = sorted(self._enabled(), key=lambda server: server.name)
        for server in servers:
            if server.memory.unread:
                await make_many(server.memory.recall)
        made_of = [(server, *server.memory.state) for server in servers]
        if self._listed is None or not _are_same(self._listed[0], made_of):
            self._listed = made_of, await make_many(late_parts.list_contents, servers)
        return self._listed[1]

    def acceptance_of(self, name: str) -> Acceptance:
        """Compare a server as last seen with what was accepted, for a person to look at. Raises as `choose` does."""
        server = self.choose(name)[0]
        return late_parts.Acceptance(server.name, server.settings, self._host.records)

    async def finish_login(self, query: Mapping[str, str]) -> str | None:
        """Take what a browser brought from a login; returns its server, None if none was begun. Raises OSError."""
        return await self._host.logins.bring(query) if self._host.logins is not None else None

    async def keep_identity(self, id_token: str) -> None:
        """Keep the ID token of this person's own login, if a server gets tokens by it; raises OSError."""
        wanted = any(server.settings.oauth.grant == "enterprise" for server in self._enabled())
        if wanted and self._host.logins is not None:
            await self._host.logins.keep_identity(id_token, self._host.credentials)

    def names_of(self, server: ProxiedServer) -> tuple[str, ...]:
        """Return every name that a rule can mean a server by: as code and as the configuration know it."""
        wanted = identifier(server.name, fallback="server")
        return tuple(dict.fromkeys((self.pack_name(server.name) or wanted, wanted, server.name)))

    def _build(self, name: str, settings: ServerSettings) -> ProxiedServer:
        return late_parts.ProxiedServer(name, settings, self._host, self._tasks, self._on_changed)

    def _enabled(self) -> list[ProxiedServer]:
        return [server for server in self._servers.values() if server.settings.enabled]

    def _on_changed(self, server: ProxiedServer) -> None:
        if self._servers.get(server.name) is server:
            self._packs.pop(server.name, None)
            self._offer()

    def _show_news(self) -> None:
        """Show what a person has accepted in another process, and servers whose words are just being written down."""
        for server in self._enabled():
            heard = server.name not in self._packs and server.memory.known
            if heard or server.memory.accepted_since():
                self._on_changed(server)

    def _offer(self) -> None:
        """Put the servers that are known into the registry by name; the rest follows when it is needed."""
        layer = []
        absent = {}
        for server in sorted(self._servers.values(), key=lambda server: server.settings.enabled):
            wanted = identifier(server.name, fallback="server")
            enabled = server.settings.enabled
            if not enabled or not server.memory.known:
                absent[absent_name(server.name)] = AbsentPack(server.unavailable, enabled)
                continue
            pack = self._packs.get(server.name)
            if pack is None:
                pack = self._packs[server.name] = PackDefinition(wanted, "", f"{PROXY}{server.name}")
            layer.append(OfferedPack(pack, partial(self._register, server, wanted)))
        self._places.offer("servers", [layer])
        self._registry.explain_absent("servers", absent)

    def _register(self, server: ProxiedServer, wanted: str, placed: PackDefinition) -> None:
        self._registry.register_late(placed.name, partial(self._load, server, wanted, placed))

    def _load(self, server: ProxiedServer, wanted: str, placed: PackDefinition) -> LoadedPack:
        prepared, built = self._prepared.pop(server.name, (None, None))
        if built is None or prepared is not self._packs.get(server.name) or built[0].name != placed.name:
            built = late_parts.build_pack(server, placed, wanted, self.listed)
        pack, functions, problems = built
        self._forget_problems(server.name)
        self._problems[server.name] = problems
        self._registry.problems.extend(problems)
        hidden = [f"{placed.name}.{identifier(name, fallback='tool')}" for name in server.memory.hidden("tools")]
        refusals = {name: partial(ToolChangedError, name, server=server.name, new=True) for name in hidden}
        self._registry.explain_unusable(f"{PROXY}{server.name}", refusals)
        return pack, functions

    def _forget_problems(self, name: str) -> None:
        for problem in self._problems.pop(name, ()):
            self._registry.problems.remove(problem)

    def pack_name(self, name: str) -> str:
        """Return the name by which code reaches a server; empty if it cannot."""
        pack = self._packs.get(name)
        return (self._places.name_of(pack) or "") if pack is not None else absent_name(name)

    def tool_name(self, server: ProxiedServer, tool: str) -> str:
        """Return the name by which code knows a tool, given that of its server; empty if code cannot call it."""
        pack = self.pack_name(server.name)
        return self._registry.name_of(pack, tool) if pack else ""

    async def catch_up(self, code: str) -> None:
        """Wait for servers that the code of a run names, if nothing is known about them yet."""
        if not self._servers:
            return
        self._show_news()
        unready = [server for server in self._enabled() if self._is_unready(server)]
        wanted = {server: re.escape(identifier(server.name, fallback="server")) for server in unready}
        named = [server for server, name in wanted.items() if re.search(rf"\b{name}_?\b", code)]
        await self._prepare(named)
        coming = [server for server in named if not server.memory.known and server.due]
        if coming:
            patience = max(server.settings.start_timeout for server in coming)
            await _wait_for(dict.fromkeys(coming, patience))
            await self._prepare(coming)

    async def catch_up_listing(self, concerns: Callable[[str], bool]) -> Unlisted:
        """Load all definitions, and wait for servers that a listing could show, each up to its `listing_timeout`."""
        # `concerns` is asked with the name of each pack that is still unknown.
        self._show_news()
        unready = [server for server in self._enabled() if self._is_unready(server)]
        await self._prepare(unready)
        for server in unready if not self.ahead else ():
            if not (server.memory.known or server.error) and concerns(self.pack_name(server.name)):
                server.connect_soon()
        coming = [server for server in unready if _is_coming(server) and concerns(self.pack_name(server.name))]
        # No listing has waited for it in vain: listings in a loop wait once.
        coming = [server for server in coming if server.outwaited is not server.connect_soon()]
        if coming:
            await _wait_for({server: server.settings.listing_timeout for server in coming})
            await self._prepare(coming)
            for server in filter(_is_coming, coming):
                server.outwaited = server.connect_soon()
        unknown = [server for server in self._enabled() if not server.memory.known]
        failed = [each for each in unknown if each.state == "disconnected" and each.error]
        return Unlisted(
            sorted(server.name for server in unknown if server.state == "connecting"),
            sorted(server.name for server in failed if concerns(self.pack_name(server.name))),
        )

    async def catch_up_contents(self) -> None:
        """Wait for what servers list beside tools; those that have never listed it are connected."""
        await self.catch_up_listing(lambda _: True)
        async with anyio.create_task_group() as tasks:
            for server in self._enabled():
                tasks.start_soon(server.wait_for_lists)

    def _is_unready(self, server: ProxiedServer) -> bool:
        """True if its definitions are still to come: from the server itself, or from what is remembered of it."""
        pack = self._packs.get(server.name)
        if pack is None or server.memory.unreadable:
            return True
        return self._registry.is_late(self._places.name_of(pack) or "")

    async def _prepare(self, servers: list[ProxiedServer]) -> None:
        """Read what is remembered of servers, on a thread: one may have hundreds of tools, and others are waiting."""
        for server in servers:
            pack = self._packs.get(server.name)
            name = self._places.name_of(pack) if pack is not None else None
            if pack is not None and name is not None and self._registry.is_late(name) and server.memory.known:
                await make_many(server.memory.recall)
                server.offer()  # connects it, if what is remembered could not be read
                if not server.memory.unreadable:
                    placed = rename_pack(pack, name)
                    built = await make_many(late_parts.build_pack, server, placed, pack.name, self.listed)
                    self._prepared[server.name] = (pack, built)

    async def probe(self, timeout: float = 3.0) -> None:
        """Try, in parallel, every server that is not connected or could have ended unnoticed."""
        async with anyio.create_task_group() as tasks:
            for server in self._enabled():
                tasks.start_soon(server.probe, timeout)

    def status(self, *, changing: bool = False) -> list[ServerStatus]:
        """Describe each server; `changing` names its tools that may change something, as we and the person know."""
        found = []
        for name, server in sorted(self._servers.items()):
            known = server.settings.enabled and server.memory.known
            changes = server.memory.all_changes() if known else {}
            tools = server.offer().tools if known else ()
            refused = {str(tool["name"]): str(tool[REFUSED]) for tool in tools if REFUSED in tool}
            pack, confined = self.pack_name(name), server.settings.confine is not None
            offered = [tool for tool in tools if REFUSED not in tool] if changing else []
            others = tuple(str(tool["name"]) for tool in offered if not self._reads(tool, server, pack))
            facts = (len(tools) - len(refused), changes, confined, refused, server.memory.pinned, others)
            left_out = late_parts.list_left_out(server) if known else {}
            found.append(late_parts.ServerStatus(name, pack, server.state, server.error, *facts, left_out))
        return found

    def _reads(self, tool: JsonObject, server: ProxiedServer, pack: str) -> bool:
        hinted = server.settings.hints and mapping_of(tool.get("annotations")).get("readOnlyHint") is True
        name = str(tool["name"])
        return hinted or self._registry.known_to_read(pack, name, identifier(name, fallback=""))

    async def close(self) -> None:
        """End all connections at once; those that take too long are left to whoever cancels them."""
        with anyio.move_on_after(_GOODBYE, shield=True):
            async with anyio.create_task_group() as tasks:
                for server in self._servers.values():
                    tasks.start_soon(server.close)


def _are_same(before: MadeOf, now: MadeOf) -> bool:
    """True if lists for clients that were made of the one are those that would be made of the other."""
    pairs = zip(before, now, strict=True) if len(before) == len(now) else ()
    same = [one[0] is other[0] and one[1] is other[1] and one[2] == other[2] for one, other in pairs]
    return len(same) == len(now) and all(same)


def _is_coming(server: ProxiedServer) -> bool:
    return server.state == "connecting" and not server.memory.known


async def _wait_for(patience: Mapping[ProxiedServer, float]) -> None:
    """Wait until each server is connected, has failed, or has taken its seconds."""

    async def wait(server: ProxiedServer, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await server.connect_soon().wait(None)

    async with anyio.create_task_group() as tasks:
        for server, seconds in patience.items():
            tasks.start_soon(wait, server, seconds)


@asynccontextmanager
async def open_servers(
    settings: Mapping[str, ServerSettings],
    *,
    registry: ToolRegistry,
    places: PackPlaces,
    host: ProxyHost,
    ahead: bool = True,
) -> AsyncIterator[Servers]:
    """Open servers without waiting for any; nothing of them is left when this is closed."""
    # Those that nobody has seen yet are connected `ahead`, or else when somebody asks for them or for what there is.
    async with open_background_tasks() as tasks:
        servers = Servers(registry, places, host, tasks, ahead=ahead)
        try:
            servers.begin(settings)
            yield servers
        finally:
            await servers.close()
