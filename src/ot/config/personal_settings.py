"""The safe part of a configuration that one of many people has of their own: it adds names, and only tightens."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_core.quick_dataclass import replace
from ot.config.documents import parse_document
from ot.config.keys import ANY, dotted, known_keys, matches, starts
from ot.config.loader import LoadedConfig
from ot.config.mistakes import Layer, Mistakes, explain
from ot.config.models import Config, PackSettings
from ot.config.reading import SettingsError
from ot.errors import ConfigError
from ot.logs import write_log
from ot.store.shelf import Shelf

DOCUMENT = "settings.yaml"
LONGEST = 64 * 1024  # bytes
_FILE = Path("settings")
_SAFE = tuple(
    tuple(key.split("."))
    for key in (
        *(f"aliases.{ANY}", f"snippets.{ANY}", f"prompts.packs.{ANY}", "policy.ask", "policy.deny"),
        *(f"packs.{ANY}.enabled", "execution.timeout", "workers.call_timeout"),
    )
)
SAFE_WORDS = ", ".join(".".join("NAME" if part == ANY else part for part in path) for path in _SAFE)


class PersonalSettings:
    """A text on a person's shelf. Writing blocks, and raises OSError."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def state(self) -> tuple[int, ...]:
        """Return something that changes with it, empty where there is none, at the cost of a `stat`."""
        return self._shelf.state(DOCUMENT)

    def text(self) -> str:
        """Return the text as it was written; raises OSError."""
        try:
            return self._shelf.read(DOCUMENT).decode()
        except FileNotFoundError:
            return ""

    def write(self, text: str) -> list[str]:
        """Keep a text, unless it has mistakes: these are returned, in words."""
        mistakes = find_mistakes(text)
        if not mistakes and text.strip():
            self._shelf.write(DOCUMENT, text.encode())
        elif not mistakes:
            self._shelf.remove(DOCUMENT)
        return mistakes


def find_mistakes(text: str) -> list[str]:
    """Say what is wrong with somebody's own settings, each with its line."""
    if len(text.encode()) > LONGEST:
        return [f"The text is longer than {LONGEST:,} bytes."]
    try:
        values = parse_document(text.encode(), _FILE)
    except ConfigError as error:
        return [_word(error)]
    found: list[ConfigError] = []
    try:
        Config.model_validate(values)
    except SettingsError as error:
        mistakes = Mistakes((), tolerant=True, every=found)
        explain(error, [Layer(_FILE, values, values)], mistakes)
    found += _find_refused(values, ())
    return [f"{_line_of(text, error.key)}{_word(error)}" for error in found]


def with_own_settings(loaded: LoadedConfig, own: PersonalSettings) -> LoadedConfig:
    """Return a person's configuration with their own settings: as it is, and a line in the log, if they are wrong."""
    try:
        text = own.text()
        wrong = find_mistakes(text)
        values = {} if wrong else parse_document(text.encode(), _FILE)
    except (OSError, ValueError) as error:
        wrong, values = [str(error)], {}
    if wrong:
        write_log(logging.ERROR, "settings.personal", reason=" ".join(wrong))
    return replace(loaded, config=_tightened(loaded.config, Config.model_validate(values))) if values else loaded


def _tightened(team: Config, own: Config) -> Config:
    off = [name for name, pack in own.packs.items() if pack.enabled is False]
    packs = dict(team.packs)
    for name in off:
        packs[name] = (packs.get(name) or PackSettings.model_construct()).model_copy(update={"enabled": False})
    policy = {"deny": (*team.policy.deny, *own.policy.deny), "ask": (*team.policy.ask, *own.policy.ask)}
    timeout, call_timeout = team.execution.timeout, team.workers.call_timeout
    if "timeout" in own.execution.model_fields_set:
        timeout = min(timeout, own.execution.timeout)
    if "call_timeout" in own.workers.model_fields_set:
        call_timeout = min(call_timeout, own.workers.call_timeout)
    texts = {**team.prompts.packs, **own.prompts.packs}
    return team.model_copy(
        update={
            "aliases": {**team.aliases, **own.aliases},
            "snippets": {**team.snippets, **own.snippets},
            "prompts": team.prompts.model_copy(update={"packs": texts}),
            "policy": team.policy.model_copy(update=policy),
            "packs": packs,
            "execution": team.execution.model_copy(update={"timeout": timeout}),
            "workers": team.workers.model_copy(update={"call_timeout": call_timeout}),
        }
    )


def _find_refused(values: Mapping[object, object], path: tuple[str, ...]) -> Iterator[ConfigError]:
    """Find what only whoever looks after the server may say; a key that nobody knows is a mistake of another kind."""
    for name, value in values.items():
        here = (*path, str(name))
        if any(matches(safe, here) for safe in _SAFE):
            if here[0] == "packs" and value is True:
                fix = "write false, or remove the key"
                yield ConfigError("you can switch a pack off, not on", file=_FILE, key=dotted(here), fix=fix)
        elif any(starts(safe, here) for safe in _SAFE) and (value is None or isinstance(value, dict)):
            yield from _find_refused(value or {}, here)
        elif here == ("include",) or any(starts(key.path, here) for key in known_keys()) or path[:1] == ("packs",):
            fix = f"you can set {SAFE_WORDS}"
            yield ConfigError("only an administrator can set it", file=_FILE, key=dotted(here), fix=fix)


def _word(error: ConfigError) -> str:
    return f"{f'{error.key}: ' if error.key else ''}{error.reason}{f'; {error.fix}' if error.fix else ''}."


def _line_of(text: str, key: str | None) -> str:
    """Return the line of a key, as far as it is written, as the beginning of a sentence."""
    import yaml  # noqa: PLC0415 - PyYAML costs start-up time, and nothing else here is read before it is needed

    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 0
    for part in (key or "").split("."):
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        found = next(((name, value) for name, value in entries if name.value == part), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return f"line {line}: " if line else ""
