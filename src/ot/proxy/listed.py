"""Everything that servers have beside tools as clients are shown it, made of what is remembered of them.

A prompt is `server.prompt`. An address stays with the server that has listed it first. Whatever else a server means by
an address is below `onetool://servers/NAME/`: what another has listed before, templates that could give another's
addresses, and links. Nobody but us has addresses below `onetool:` and `ui://onetool/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from urllib.parse import quote, unquote

from mcp_core.json_types import Json, JsonObject
from mcp_core.known_secrets import MASK
from mcp_core.quick_dataclass import dataclass
from mcp_core.visible_text import visible
from ot.proxy.server import ProxiedServer
from ot.registry.from_schema import clean_text
from ot.registry.names import shown_name

OURS = "onetool://"
_BELOW = f"{OURS}servers/"
_CLAIMED = ("onetool:", "ui://onetool/")
_LONGEST_ADDRESS = 8_192  # characters
_LONGEST_TEMPLATE = 2_000  # characters
_LONGEST_WORDS = 20_000  # characters of a title or a description
_FETCHED = ("http://", "https://")  # addresses that a client can fetch by itself


@dataclass(frozen=True, slots=True)
class Owned:
    """Something by the name, or the address, that its server has for it."""

    server: str
    name: str


@dataclass(eq=False, slots=True)
class Listed:
    """The lists for clients, and the way back from what is in them; `complete` if all servers have been heard."""

    prompts: list[JsonObject] = field(default_factory=list)
    resources: list[JsonObject] = field(default_factory=list)
    templates: list[JsonObject] = field(default_factory=list)
    complete: bool = True
    _prompts: dict[str, Owned] = field(default_factory=dict)  # by the names that clients see
    _owners: dict[str, str] = field(default_factory=dict)  # servers by the addresses that they have listed first
    _spaces: dict[str, str] = field(default_factory=dict)  # the same for templates of addresses
    _names: frozenset[str] = frozenset()

    def find_prompt(self, name: str) -> Owned | None:
        return self._prompts.get(name)

    def find_address(self, uri: str) -> Owned | None:
        """Return whose an address is; None if nobody has listed it, or a template that it could come from."""
        if uri.startswith(_BELOW):
            name, _, own = uri.removeprefix(_BELOW).partition("/")
            server = unquote(name)
            return Owned(server, own) if own and server in self._names else None
        if _is_claimed(uri):  # a template such as `{+all}` could give it
            return None
        owner = self._owners.get(uri)
        if owner is None:
            owner = next((server for space, server in self._spaces.items() if fits(uri, space)), None)
        return None if owner is None else Owned(owner, uri)

    def find_masked(self, uri: str, redact: Callable[[str], str]) -> Owned | None:
        """Return whose an address is in which clients do not see the secrets."""
        if MASK not in uri:
            return None
        return next((self.find_address(own) for each in self.resources if redact(own := str(each["uri"])) == uri), None)

    def find_template(self, template: str) -> Owned | None:
        """Return whose a template is, as clients see it."""
        owner = self._spaces.get(template)
        return self.find_address(template) if owner is None else Owned(owner, template)

    def address_of(self, server: str, uri: str) -> str:
        """Return the address by which clients reach what a server means by one."""
        owned = None if _is_claimed(uri) else self.find_address(uri)
        if owned is None and uri.lower().startswith(_FETCHED):
            return uri
        return uri if owned == Owned(server, uri) else _below(server, uri)

    def _share_addresses(self, servers: Iterable[ProxiedServer]) -> None:
        """Give each address, and each template, to the server that has listed it first, or a template that gives it.

        A template that could give addresses of any scheme is nobody's.
        """
        claims = sorted(
            (when, server.name, uri)
            for server in servers
            for uri, when in server.memory.first_listed().items()
            if not _why_not(uri)
        )
        for _, server, uri in claims:
            others = (space for space, owner in self._spaces.items() if owner != server)
            if "{" not in uri:
                first = next((space for space in others if uri.startswith(_fixed(space)) and fits(uri, space)), "")
                self._owners.setdefault(uri, self._spaces.get(first, server))
            elif ":" in _fixed(uri) and uri not in self._spaces and not any(_overlap(uri, space) for space in others):
                self._spaces[uri] = server

    def _add(self, server: ProxiedServer) -> None:
        offer = server.memory.recall()
        if offer is None:
            self.complete = False
            return
        for item in server.memory.shown("prompts") if server.offers("prompts") else ():
            name = f"{server.name}.{shown_name(str(item['name']))}"
            if name not in self._prompts:
                self._prompts[name] = Owned(server.name, str(item["name"]))
                self.prompts.append({**_cleaned(item), "name": name})
        if server.offers("resources"):
            for item in _usable(offer.resources, "uri"):
                self.resources.append({**_cleaned(item), "uri": self.address_of(server.name, str(item["uri"]))})
            for item in _usable(offer.templates, "uriTemplate"):
                template = str(item["uriTemplate"])
                own = self._spaces.get(template) == server.name
                shown = template if own else _below(server.name, template)
                self.templates.append({**_cleaned(item), "uriTemplate": shown})
        self.complete &= server.heard


def list_contents(servers: Sequence[ProxiedServer]) -> Listed:
    """List what there is beside tools; nothing is connected for it. Blocking."""
    listed = Listed(_names=frozenset(server.name for server in servers))
    listed._share_addresses(server for server in servers if server.offers("resources"))  # noqa: SLF001 - it is built here
    for server in servers:
        listed._add(server)  # noqa: SLF001 - as above
    return listed


def list_left_out(server: ProxiedServer) -> dict[str, str]:
    """Return the addresses that a server lists and nobody is shown, each with the reason."""
    offer = server.offer()
    items = (*(offer.resources or ()), *(offer.templates or ())) if server.offers("resources") else ()
    addresses = [str(item.get("uri") or item.get("uriTemplate")) for item in items]
    return {shown_name(uri): reason for uri in addresses if (reason := _why_not(uri))}


def _usable(items: Iterable[JsonObject] | None, key: str) -> Iterator[JsonObject]:
    return (item for item in items or () if not _why_not(str(item[key])))


def fits(uri: str, template: object) -> bool:
    """True if an address could be made from a template such as `file:///{path}`."""
    if not isinstance(template, str) or len(template) > _LONGEST_TEMPLATE:
        return False
    parts = re.split(r"\{[^{}]*\}", template)
    position = len(parts[0])
    if not uri.startswith(parts[0]) or not uri.endswith(parts[-1]):
        return False
    for part in parts[1:]:  # each fixed part after the one before it; what stands between them is free
        position = uri.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


def _overlap(one: str, other: str) -> bool:
    """True if two templates could give the same address, as far as what is in front of their variables tells."""
    first, second = _fixed(one), _fixed(other)
    return first.startswith(second) or second.startswith(first)


def _fixed(template: str) -> str:
    """Return what is in front of the variables of a template."""
    return template.partition("{")[0]


def _below(server: str, uri: str) -> str:
    return f"{_BELOW}{quote(server, safe='')}/{uri}"


def _is_claimed(uri: str) -> bool:
    return uri.lower().startswith(_CLAIMED)


def _why_not(uri: str) -> str:
    """Return why an address is not shown to anybody; empty if it is."""
    if _is_claimed(uri):
        return "addresses that begin with onetool: or ui://onetool/ are those of OneTool itself"
    if not 0 < len(uri) <= _LONGEST_ADDRESS or uri != uri.strip() or visible(uri) != uri:
        return f"an address has up to {_LONGEST_ADDRESS:,} characters, and all of them can be seen"
    return ""


def _cleaned(item: Mapping[str, Json]) -> JsonObject:
    """Return a definition with nothing in its words that cannot be seen."""
    found: JsonObject = dict(item)
    for key in ("name", "title", "description"):
        if key in found:
            found[key] = clean_text(found[key], _LONGEST_WORDS)
    if isinstance(arguments := found.get("arguments"), list):
        found["arguments"] = [_cleaned(each) if isinstance(each, dict) else each for each in arguments]
    return found
