"""The memory of one server: what it says of itself, what of that a person has accepted, and digests of which it is."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.config.server_settings import ServerSettings
from ot.logs import write_log
from ot.proxy.definitions.addresses import Addresses, Times
from ot.proxy.definitions.pins import Changes, DefinitionCache, Offer, Part, Pins, hide_unaccepted, parts_of
from ot.registry.open_results import digest_of
from ot.store.shelf import Shelf

BROUGHT = "brought_servers"
"""The folder in the state folder of those that `onetool add` has installed; what it updates comes from elsewhere."""

_FETCH = frozenset({"npx", "pnpx", "bunx", "uvx", "dnx", "ssh", "mcp-remote", "mcp-proxy", "supergateway"})
"""Programs that fetch what they run, or pass on what a server elsewhere says."""

_FETCH_WITH: dict[str, tuple[str, ...]] = {
    "npm": ("exec", "x"), "pnpm": ("dlx",), "yarn": ("dlx",), "bun": ("x",), "pipx": ("run",), "uv": ("tool",),
    "nix": ("run", "shell"), **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl"), ("run", "exec")),
}  # fmt: skip
"""Programs that do so when one of these words follows."""
_TAKE_ADDRESSES = frozenset({"deno", "bun", "uv", "go", "jbang"})
"""Programs that do so when an address or a package of an index follows."""
_ADDRESS = re.compile(r"(?:https?|npm|jsr|git\+\w+):.|[\w.-]+\.\w+/[^@]+@")
_BETWEEN_WORDS = re.compile(r"[\s;&|()`'\"<>$]+")


@dataclass(frozen=True, slots=True)
class Records:
    """The records of servers on one person's shelf, as one project uses them."""

    project: Path
    shelf: Shelf
    pin_tools: bool | None = None  # None: of servers that come from elsewhere

    @property
    def cache(self) -> DefinitionCache:
        return DefinitionCache(self.shelf.below("servers/definitions"))

    @property
    def pins(self) -> Pins:
        return Pins(self.shelf.below("servers/accepted"))

    @property
    def addresses(self) -> Addresses:
        return Addresses(self.shelf.below("servers/addresses"))


class ServerMemory:
    """One server's memory, read from disk on first use and written when the server says something new."""

    def __init__(self, name: str, settings: ServerSettings, records: Records) -> None:
        self.place = digest_of_place(name, settings, project=records.project)
        self._name = name
        self._digest = digest_of_configuration(name, settings, project=records.project)
        self._cache = records.cache
        self._pins = records.pins
        self._addresses = records.addresses
        # What has changed of it is refused until a person accepts it.
        self.pinned = is_fetched(settings) if records.pin_tools is None else records.pin_tools
        self._offer: Offer | None = None
        self._changes: dict[Part, tuple[Offer, Changes]] = {}  # of what offer
        self._noting = RLock()  # of threads
        self._hidden: dict[Part, tuple[int, ...]] = {}  # what was accepted when part of an offer was last kept back
        self._unreadable = False

    @property
    def known(self) -> bool:
        """True if its tools are known, or there is a file that should say; nothing is read."""
        if self._offer is not None:
            return True
        return not self._unreadable and self._cache.holds(self._name, self._digest)

    @property
    def unread(self) -> bool:
        """True if there is something to recall that nobody has looked at yet."""
        return self._offer is None and self.known

    @property
    def state(self) -> tuple[Offer | None, tuple[int, ...]]:
        """Its definitions, as far as they are recalled, and a state that changes with the prompts that are accepted."""
        return self._offer, self._pins.state(self.place, "prompts")

    @property
    def unreadable(self) -> bool:
        """True if what was remembered cannot be used, and the server has said nothing since."""
        return self._offer is None and self._unreadable

    def recall(self) -> Offer | None:
        """Return what it offers, or offered last time; None if that is not known. May be called on a thread."""
        if self._offer is None and not self._unreadable:
            with self._noting:
                if self._offer is None:
                    self._offer = self._cache.read(self._name, self._digest)
                    self._unreadable = self._offer is None
        return self._offer

    @property
    def views(self) -> tuple[JsonObject, ...] | None:
        """The pins of its views; None until one was shown."""
        offer = self.recall()
        return None if offer is None else offer.views

    def note(self, offer: Offer) -> bool:
        """Take over what the server says now; True if any of it is new. What it was not asked for stays."""
        with self._noting:
            return self._note(offer)

    def _note(self, offer: Offer) -> bool:
        known = self.recall()
        if known is not None:
            offer = replace(
                offer,
                prompts=known.prompts if offer.prompts is None else offer.prompts,
                resources=known.resources if offer.resources is None else offer.resources,
                templates=known.templates if offer.templates is None else offer.templates,
                views=known.views if offer.views is None else offer.views,
            )
        if offer == known:
            return False
        self._cache.write(self._name, self._digest, offer)
        self._offer = offer
        for part, changes in self.all_changes().items():
            if changes:
                unaccepted = [each for each in parts_of(offer)[part] if str(each["name"]) in changes]
                self._pins.remember(self.place, part, unaccepted)
                names: dict[str, Any] = {"changed": changes.changed, "added": changes.added}
                write_log(logging.WARNING, "proxy.changed", server=self._name, part=part, **names)
        return True

    def note_listed(self, listed: Mapping[str, Iterable[JsonObject]]) -> bool:
        """Take over some of the lists beside that of tools, as the server gives them now; True if any of it is new."""
        with self._noting:
            offer = self.recall()
            return offer is not None and self._note(offer.with_lists(listed))

    def first_listed(self) -> Times:
        """Return when the server has first listed each address, and each template of addresses. Blocking."""
        offer = self.recall() or Offer()
        addresses = [str(item["uri"]) for item in offer.resources or ()]
        return self._addresses.note(
            self.place, {*addresses, *(str(item["uriTemplate"]) for item in offer.templates or ())}
        )

    def changes(self, part: Part) -> Changes:
        """Return what nobody has accepted; looked up each time, as a person may have accepted it since."""
        return self._changes_of(self.recall(), part)

    def _changes_of(self, offer: Offer | None, part: Part) -> Changes:
        compared, found = self._changes.get(part, (None, Changes()))
        if offer is None or (compared is offer and not found):
            return Changes()
        items = parts_of(offer).get(part)
        if items is None:
            return Changes()  # nothing is known of it, so there is nothing to accept either
        found = self._pins.compare(self.place, part, items)
        self._changes[part] = offer, found  # another thread may have taken over another offer meanwhile
        return found

    def all_changes(self) -> dict[Part, Changes]:
        """Return what nobody has accepted, part by part."""
        return {part: self.changes(part) for part in parts_of(self.recall() or Offer())}

    def shown(self, part: Part) -> list[Mapping[str, Json]]:
        """Return the definitions of one part as a model may see them."""
        offer = self.recall() or Offer()
        items = parts_of(offer).get(part, ())
        accepted = self._pins.state(self.place, part)  # before it is compared: a person may accept it meanwhile
        if not self.pinned or not (changes := self._changes_of(offer, part)):
            return list(items)
        self._hidden[part] = accepted
        return list(hide_unaccepted(items, changes, self._pins.read(self.place, part) or {}))

    def hidden(self, part: Part) -> tuple[str, ...]:
        """Return the names of what a model may not see, since nobody has accepted it; it is told their number."""
        return self.changes(part).added if self.pinned else ()

    def accepted_since(self) -> bool:
        """True, once, if a person has accepted something since part of it was kept back from a model."""
        if all(self._pins.state(self.place, part) == state for part, state in self._hidden.items()):
            return False
        self._hidden = {}
        return True

    def shown_words(self) -> tuple[str, str]:
        """Return its title and its instructions as a model may see them."""
        words = {item["name"]: item.get("text", "") for item in self.shown("words")}
        return str(words.get("title", "")), str(words.get("instructions", ""))


def digest_of_configuration(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of everything that may change what the server offers; secrets are in it only as a digest."""
    described = {name: vars(settings)[name] for name in ("command", "args", "env", "url", "headers")}
    return digest_of(name, described, _folder(settings, project))


def digest_of_place(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of where the server is; a new token or other variables do not change it."""
    return digest_of(name, settings.command, settings.args, settings.url, _folder(settings, project))


def working_folder(settings: ServerSettings, project: Path) -> Path:
    return settings.cwd or project


def _folder(settings: ServerSettings, project: Path) -> str:
    return "" if settings.command is None else str(working_folder(settings, project))


def is_fetched(settings: ServerSettings) -> bool:
    """True for a url, and for a command that fetches a program, as far as its words show that."""
    # All words count, wherever they stand: a runner is often started by `env`, `sh -c` or another program.
    if settings.command is None:
        return True
    if any(f"/{BROUGHT}/" in text for text in (settings.command, *settings.args)):
        return True
    words = [word for text in (settings.command, *settings.args) for word in _BETWEEN_WORDS.split(text)]
    for place, word in enumerate(words):
        program = re.sub(r".*/|(?<=.)@.*|\.(?:exe|cmd)$", "", word)  # without its folder and its version
        following = words[place + 1 :]
        if program in _FETCH or not set(following).isdisjoint(_FETCH_WITH.get(program, ())):
            return True
        if program in _TAKE_ADDRESSES and any(map(_ADDRESS.match, following)):
            return True
    return False
