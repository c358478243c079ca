"""PackPlaces: packs of several origins in one registry, each under the name that is given to it (see `names`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from mcp_core.quick_dataclass import dataclass
from ot.config.models import OFF_UNLESS_ASKED, PackSettings, WithheldPack
from ot.errors import NotGrantedError, PackLoadError, SwitchedOffError
from ot.registry.definitions import PackDefinition
from ot.registry.names import PlacedPack, arrange
from ot.registry.registry import AbsentPack, ToolRegistry

ORIGINS = ("extensions", "servers")  # who offers packs beside the built-in ones; who stands first chooses first
MODEST = "skills"  # the origin whose packs move aside as built-in ones do where their name is taken


@dataclass(frozen=True, slots=True)
class OfferedPack:
    """A pack that wants a place."""

    pack: PackDefinition  # the same as before exactly if it is the same object: then nothing is done for it
    register: Callable[[PackDefinition], None]  # puts it into the registry, given the pack under the name it got


class PackPlaces:
    """Arranges packs beside those that the registry holds when this is made: those are the built-in ones."""

    def __init__(self, registry: ToolRegistry, settings: Mapping[str, PackSettings] | None = None) -> None:
        self._registry = registry
        self._settings: Mapping[str, PackSettings] = {}  # by the names under which packs are reached
        self._built_in = [offer_registered(pack, registry) for pack in registry.packs()]
        self._offered: dict[str, Sequence[Sequence[OfferedPack]]] = {}
        self._placed = {each.pack.name: PlacedPack(each.pack, each.pack) for each in self._built_in}
        if settings is not None:
            registry.problems += self.switch(settings)

    def offer(self, origin: str, layers: Sequence[Sequence[OfferedPack]]) -> list[PackLoadError]:
        """Replace everything that one origin offers, nearest layer first; gives what could not be registered."""
        # The registry changes at one go: called on the event loop, no run sees half of it.
        self._offered[origin] = layers
        return self._arrange()

    def replace_built_in(self, packs: Sequence[OfferedPack]) -> list[PackLoadError]:
        """Replace the built-in packs, in the same way."""
        self._built_in = list(packs)
        return self._arrange()

    def switch(self, settings: Mapping[str, PackSettings]) -> list[PackLoadError]:
        """Let packs come and go as other settings say, in the same way."""
        self._settings = settings
        return self._arrange()

    def _is_on(self, name: str, *, unless_said: bool = True) -> bool:
        said = self._settings[name].enabled if name in self._settings else None
        return unless_said if said is None else said

    def _arrange(self) -> list[PackLoadError]:
        offered = [layer for name in ORIGINS for layer in self._offered.get(name, ())]
        modest = [each for layer in self._offered.get(MODEST, ()) for each in layer]
        stand_by = [*self._built_in, *modest]
        packs = [each.pack for each in stand_by]
        built_in = [pack for pack in packs if self._is_on(pack.name, unless_said=pack.name not in OFF_UNLESS_ASKED)]
        arrangement = arrange([[each.pack for each in layer] for layer in offered], built_in)
        placed = {each.pack.name: each for each in arrangement.packs if self._is_on(each.pack.name)}
        known = {pack.name for pack in packs} | {each.pack.name for each in arrangement.packs}
        off = {name: self._explain_off(name, packs) for name in known.difference(placed)}
        self._registry.explain_absent("settings", off)
        for name in self._differing(self._placed, placed):
            self._registry.remove_pack(name)
        register = {id(each.pack): each.register for layer in (*offered, stand_by) for each in layer}
        problems: list[PackLoadError] = []
        for name in self._differing(placed, self._placed):
            try:
                register[id(placed[name].original)](placed[name].pack)
            except PackLoadError as problem:
                problems.append(problem)
                del placed[name]
        self._registry.collisions = arrangement.collisions
        self._placed = placed
        return problems

    def _explain_off(self, name: str, packs: Iterable[PackDefinition]) -> AbsentPack:
        if isinstance(self._settings.get(name), WithheldPack):
            return AbsentPack(partial(NotGrantedError, name, ""), expected=False)
        explain = partial(SwitchedOffError, "pack", name, key=f"packs.{name}.enabled")
        return AbsentPack(explain, expected=False, pack=next((pack for pack in packs if pack.name == name), None))

    def name_of(self, pack: PackDefinition) -> str | None:
        """The name that an offered pack got; None if it has no place."""
        return next((name for name, each in self._placed.items() if each.original is pack), None)

    @staticmethod
    def _differing(first: Mapping[str, PlacedPack], second: Mapping[str, PlacedPack]) -> Iterable[str]:
        return [n for n, each in first.items() if n not in second or second[n].original is not each.original]


def offer_registered(pack: PackDefinition, registry: ToolRegistry) -> OfferedPack:
    """Offer a pack that the registry holds, with the functions that it has there."""
    functions = {tool: registry.executor(definition.name) for tool, definition in pack.tools.items()}
    return OfferedPack(pack, partial(registry.register_pack, functions=functions))
