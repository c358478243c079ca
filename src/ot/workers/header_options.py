"""`[tool.onetool]` in the header of an extension: where its worker runs, and what it may touch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from ot.config.reading import After, Before, Bounds, SettingsError
from ot.config.section import Bytes, Name, Section, setting
from ot.config.server_settings import ConfineSettings
from ot.config.values import mistake, read_number
from ot.workers.pep723 import ScriptHeader
from ot_confinement.confine import lies_within

CONFINE = "confine"
PLACEMENT = ("engine", "cpus", "gpus", "memory", "resources")
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


Amount = Annotated[float, Before(read_number), Bounds(ge=0, le=100_000), After(check_amount)]


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


class HeaderMistakeError(Exception):
    """The header has an option that cannot be read; the text says where, and what would be right."""


def read_options(header: ScriptHeader) -> dict[str, object]:
    """Return the options in the header as written; raises HeaderMistakeError if one of them is unknown."""
    options = header.tool.get("onetool", {})
    if not isinstance(options, dict):
        raise HeaderMistakeError("onetool in its header is not a table; write [tool.onetool]")
    unknown = sorted(set(options) - {CONFINE, *PLACEMENT})
    if unknown:
        raise HeaderMistakeError(
            f"[tool.onetool] in its header has the key `{unknown[0]}`; the keys are {', '.join((CONFINE, *PLACEMENT))}"
        )
    return options


def _word_mistake(error: SettingsError, *within: str) -> HeaderMistakeError:
    """Return the first mistake in options that are invalid; `within` is the key that holds them."""
    first = error.problems[0]
    key = ".".join((*within, *first.place))
    return HeaderMistakeError(f"{key or '[tool.onetool]'} in its header: {first.reason}; {first.fix}")


def read_placement(header: ScriptHeader | None) -> Placement:
    """Return where an extension wants to run; raises HeaderMistakeError."""
    options = {} if header is None else read_options(header)
    try:
        return Placement.model_validate({key: value for key, value in options.items() if key in PLACEMENT})
    except SettingsError as error:
        raise _word_mistake(error) from error


def read_confine(header: ScriptHeader, file: Path, *, project: Path) -> ConfineSettings | None:
    """Return the bounds of an extension, None if it has none; raises HeaderMistakeError."""
    # Paths are seen from the extension's folder, `~` is the person's home, and `{project}` the project's folder.
    options = read_options(header)
    if CONFINE not in options:
        return None
    given = options[CONFINE]
    if isinstance(given, dict):
        lists = {key: given[key] for key in ("read", "write") if isinstance(given.get(key), list)}
        given = {**given, **{key: [_whole(path, file.parent, project) for path in lists[key]] for key in lists}}
    try:
        confine = ConfineSettings.model_validate(given)
    except SettingsError as error:
        raise _word_mistake(error, CONFINE) from error
    if lies_within(os.path.realpath(file), map(os.path.realpath, confine.write)):
        raise HeaderMistakeError(
            "confine.write in its header includes the file itself, which could then change its limits"
        )
    return confine


def _whole(path: object, folder: Path, project: Path) -> object:
    if not isinstance(path, str) or not path:
        return path
    text = path.replace("{project}", str(project))
    return text if text.startswith("~") else str(folder / text)
