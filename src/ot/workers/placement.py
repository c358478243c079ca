"""`[tool.onetool] engine` in the header of an extension, and what its worker needs of the node that it runs on."""

from __future__ import annotations

from typing import Annotated, Literal

from ot.config.reading import After, Before, Bounds, SettingsError
from ot.config.section import Bytes, Name, Section
from ot.config.settings import setting
from ot.config.values import mistake, read_number
from ot.workers.header_options import PLACEMENT, read_options, word_mistake
from ot.workers.pep723 import ScriptHeader

EngineName = Literal["local", "ray"]

_KEYS_OF_RAY = frozenset({"CPU", "GPU", "memory", "object_store_memory"})


def check_amount(value: float) -> float:
    """Accept what Ray can hand out: a part of one, or a whole number of them."""
    if value > 1 and value != int(value):
        raise mistake("must be a whole number, or at most 1", "write 0.5 or 2, for example")
    return value


def check_resource(name: str) -> str:
    """Accept the name of a resource that has no key of its own."""
    if name in _KEYS_OF_RAY:
        raise mistake(f"{name} is not a custom resource", "write cpus, gpus or memory beside engine")
    return name


Amount = Annotated[
    float,
    Before(read_number),
    Bounds(ge=0, le=100_000),
    After(check_amount),
]


class Placement(Section):
    """The engine that an extension asks for, and what a node must have free for each of its workers."""

    engine: EngineName = setting("local", "where it runs, if `workers.engine` allows it")
    cpus: Amount = setting(1, "processors")
    gpus: Amount = setting(0, "graphics processors")
    memory: Bytes | None = setting(None, "memory, by which Ray places it; `confine.memory` is a limit")
    resources: dict[Annotated[Name, After(check_resource)], Amount] = setting({}, "custom resources of Ray")

    def model_check(self) -> None:
        unused = sorted(self.model_fields_set - {"engine"})
        if unused and self.engine != "ray":
            raise mistake(f'{", ".join(unused)} without engine = "ray"', 'add engine = "ray", or remove it')

    def describe(self) -> str:
        """Say in a few words what a node must have free."""
        amounts = {"CPUs": self.cpus, "GPUs": self.gpus, **self.resources}
        words = [f"{amount:g} {name}" for name, amount in amounts.items() if amount]
        if self.memory is not None:
            words.append(f"{self.memory} bytes of memory")
        return ", ".join(words) or "nothing in particular"


def read_placement(header: ScriptHeader | None) -> Placement:
    """Return where an extension wants to run; raises HeaderMistakeError."""
    options = {} if header is None else read_options(header)
    try:
        return Placement.model_validate({key: value for key, value in options.items() if key in PLACEMENT})
    except SettingsError as error:
        raise word_mistake(error) from error
