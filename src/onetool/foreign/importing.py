"""Servers of other clients imported into a OneTool configuration: first a plan, then at most two files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mcp_core.json_types import list_of, mapping_of
from onetool.foreign.clients import ForeignServer
from onetool.foreign.entries import ServerEntry
from onetool.foreign.secret_values import Vault
from onetool.foreign.secrets_file import add_secrets, keep_in_keychain
from onetool.foreign.table_edit import add_entries
from onetool.foreign.text_files import TextFile, read_text_file, replace_text_file
from ot.config.documents import read_document
from ot.config.paths import SECRETS_FILE
from ot.config.reading import SettingsError
from ot.config.secrets import read_secrets
from ot.config.server_settings import ServerSettings
from ot.registry.names import PROTECTED

NEW = "new"


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan for one server: its `state` in a few words, and the `settings` to write, if any.

    `provided` is True if OneTool then has all of it, including its secrets.
    """

    found: ForeignServer
    name: str
    state: str
    settings: ServerEntry
    notes: tuple[str, ...] = ()
    provided: bool = False


class Plan(NamedTuple):
    """Everything that would be written: servers into one file, secrets into the one beside it."""

    file: Path
    secrets_file: Path
    decisions: tuple[Decision, ...]
    secrets: Mapping[str, str]
    wanted: Mapping[str, str]  # variables that a person must still set, and why

    @property
    def servers(self) -> dict[str, ServerEntry]:
        return {each.name: each.settings for each in self.decisions if each.state == NEW}


def make_plan(
    found: Iterable[ForeignServer],
    file: Path,
    *,
    own: Path | None = None,
    more_secrets: Sequence[Path] = (),
    project: Path | None = None,
) -> Plan:
    """Decide about every server that was found; nothing is written. Raises ConfigError.

    `file` is the configuration that is written to. `own` is the person's, where that is another one;
    `more_secrets` are files of secrets that apply as well. `project` is the folder in which servers of the project are
    started, where the file is not the project's.
    """
    secrets_file = file.with_name(SECRETS_FILE)
    there = (each for each in (file, own) if each is not None and each.exists())
    present = {each: mapping_of(read_document(each).get("servers")) for each in there}
    nearest_last = (each for each in (*reversed(more_secrets), secrets_file) if each.exists())
    known = {name: value for each in nearest_last for name, value in read_secrets(each).items()}
    vault = Vault(dict(known))
    taken: dict[str, Decision] = {}
    decisions: list[Decision] = []
    wanted: dict[str, str] = {}
    for each in found:
        name = "".join(filter(str.isprintable, " ".join(each.name.split()))) or "server"
        name = f"{name}_server" if name in PROTECTED else name
        if each.entry is None:
            decision = Decision(each, each.name, f"left out: {each.reason}", {})
        elif reason := _find_mistake(each.entry.settings):
            decision = Decision(each, name, f"left out: {reason}", {})
        else:
            settings = _without_secrets(each.entry.settings, name, vault)
            if project is not None and each.source.project is not None and "command" in settings:
                settings.setdefault("cwd", str(project))
            decision = Decision(each, name, NEW, settings, (each.entry.note,) if each.entry.note else ())
        needs = {name: why for name, why in (each.wanted or {}).items() if name not in known}
        if decision.state == NEW:
            decision = _compare(decision, present, taken)
        if decision.state == NEW:
            decision = _switched_off(decision, needs, secrets_file)
            taken[decision.name] = decision
            wanted |= {name: f"{decision.name}: {why}" if why else decision.name for name, why in needs.items()}
        decisions.append(decision)
    used = str([decision.settings for decision in taken.values()])
    secrets = {name: value for name, value in vault.added.items() if f"${{{name}}}" in used}
    return Plan(file, secrets_file, tuple(decisions), secrets, {n: w for n, w in wanted.items() if n not in secrets})


def _find_mistake(settings: ServerEntry) -> str:
    """Say why OneTool would refuse such an entry, and with it the whole file; empty where it would not."""
    checked = {**settings, "url": "http://reference"} if settings.get("url", "").startswith("${") else settings
    try:
        ServerSettings.model_validate(checked)
    except SettingsError as error:
        first = error.problems[0]
        return f"{'.'.join(first.place) or 'it'}: {first.reason}"
    return ""


def _without_secrets(settings: ServerEntry, owner: str, vault: Vault) -> ServerEntry:
    hidden = settings.copy()
    if "args" in hidden:
        hidden["args"] = vault.hide_arguments(hidden["args"], owner=owner)
    if "env" in hidden:
        hidden["env"] = {name: vault.hide_value(name, value, owner=owner) for name, value in hidden["env"].items()}
    if "url" in hidden:
        hidden["url"] = vault.hide_address(hidden["url"], owner=owner)
    if "headers" in hidden:
        headers = hidden["headers"].items()
        hidden["headers"] = {name: vault.hide_value(f"{owner}_{name}", value, owner=owner) for name, value in headers}
    return hidden


def _compare(
    decision: Decision, present: Mapping[Path, Mapping[str, object]], taken: Mapping[str, Decision]
) -> Decision:
    """Compare with the servers that are already there, and with those of earlier files: the first one stays."""
    name = decision.name
    for file, servers in present.items():
        if name in servers:
            there = mapping_of(servers[name])
            same = _essence(there) == _essence(decision.settings)
            words = "already" if same else "kept: another of this name is"
            return replace(decision, state=f"{words} in {file}", provided=_covers(there, decision.settings))
    if name in taken:
        first = taken[name]
        if _essence(first.settings) == _essence(decision.settings):
            covered = _covers(first.settings, decision.settings)
            return replace(decision, state=f"the same as in {first.found.source.file}", provided=covered)
        return replace(decision, state=f"left out: another of this name is in {first.found.source.file}")
    return replace(decision, provided=decision.settings.get("enabled") is not False)


def _covers(there: Mapping[str, object], settings: ServerEntry) -> bool:
    """True if our entry is enabled and has everything that another has; secrets are compared by name."""
    return there.get("enabled") is not False and all(there.get(key) == value for key, value in settings.items())


def _essence(settings: Mapping[str, object]) -> list[object]:
    """Return what tells which server an entry starts or connects to; the names of its secrets do not count."""
    arguments = [argument for argument in list_of(settings.get("args")) if "${" not in str(argument)]
    names, address = sorted(mapping_of(settings.get("env"))), str(settings.get("url", "")).partition("?")[0]
    return [settings.get("command"), arguments, names, address]


def _switched_off(decision: Decision, needs: Mapping[str, str], secrets_file: Path) -> Decision:
    """Switch off a server that cannot work yet: a missing variable would stop OneTool itself."""
    notes = list(decision.notes)
    if needs:
        notes.append(f"switched off until {', '.join(needs)} is set in {secrets_file}; then remove `enabled: false`")
    if decision.found.unknown:
        notes.append(f"switched off: only its client can fill in {', '.join(decision.found.unknown)}")
    if len(notes) == len(decision.notes):
        return decision
    off: ServerEntry = {**decision.settings, "enabled": False}
    return replace(decision, settings=off, notes=tuple(notes), provided=False)


def changed_text(plan: Plan) -> tuple[TextFile, str]:
    original = read_text_file(plan.file)
    if not plan.servers:
        return original, original.text
    return original, add_entries(original.text, "servers", plan.servers, file=plan.file, newline=original.newline)


def carry_out(plan: Plan, *, keychain: bool = False) -> dict[Path, Path | None]:
    """Write the plan, secrets first, since others refer to them; returns the files with the copies of old ones.

    With `keychain`, secrets go there, and the file has references to them.
    """
    original, text = changed_text(plan)
    written: dict[Path, Path | None] = {}
    kept = keep_in_keychain(plan.secrets) if keychain else plan.secrets
    values = {**kept, **dict.fromkeys(plan.wanted, "")}
    if values:
        written[plan.secrets_file] = add_secrets(plan.secrets_file, values)
    if text != original.text:
        written[plan.file] = replace_text_file(original, text)
    return written
