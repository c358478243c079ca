"""The configuration of one of many people: the team's, with their own home, their groups' rights and closed doors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from mcp_core.quick_dataclass import replace
from ot.clients.person import Person
from ot.config.loader import LoadedConfig
from ot.config.mistakes import Mistake
from ot.config.models import Config, GrantedPolicy, PackSettings, WithheldPack
from ot.config.paths import state_folder
from ot.config.server_settings import ConfineSettings, ServerSettings
from ot.config.team import GrantSettings, TeamLimits
from ot.errors import UnsetVariableError
from ot.text.redaction import Redactor

PEOPLE_FOLDER = "people"
MACHINE_PACKS = ("code", "file", "git", "ripgrep", "shell")
"""Packs that reach the files and programs of the machine that serves, which is nobody's own."""
INSTALLERS = ("scaffold.extension",)  # tools that add for everybody what only whoever looks after the server should add
_DATABASES = "db"  # by name they are the administrator's choice; by file they are files of the machine


def home_of(team: LoadedConfig, person: Person) -> Path:
    """Return the folder below which everything that is a person's own lies, as in a home."""
    return state_folder(team.home) / PEOPLE_FOLDER / folder_of(person.principal)


def folder_of(principal: str) -> str:
    """Return the name of a person's folder among those of all."""
    return sha256(principal.encode()).hexdigest()[:32]


def groups_that_count(config: Config, person: Person) -> frozenset[str]:
    """Return the groups of a person that the configuration names: only these make a difference to them."""
    return person.groups & {*config.grants, *config.auth.admins, *config.limits.groups}


def is_administrator(config: Config, person: Person) -> bool:
    return not person.groups.isdisjoint(config.auth.admins)


def for_team(loaded: LoadedConfig) -> LoadedConfig:
    """Return the configuration of a server that many people share: runs are confined as strictly as can be."""
    execution = loaded.config.execution.model_copy(update={"sandbox": "strict"})
    config = loaded.config.model_copy(update={"execution": execution})
    return replace(
        loaded,
        config=config,
        read_again=lambda: for_team(loaded.read_again()),
        fill_in=lambda values: for_team(loaded.fill_in(values)),
    )


def for_person(team: LoadedConfig, person: Person) -> LoadedConfig:
    grants = [grant for group, grant in team.config.grants.items() if group in person.groups]
    allowed = tuple(pattern for grant in grants for pattern in grant.allow)
    on_machine = any(_opens(allowed, pack) for pack in (*MACHINE_PACKS, _DATABASES))
    return replace(
        team,
        config=_limit(_grant(team.config, grants, allowed), person),
        redactor=Redactor(team.secrets.known_values(), teach=team.redactor.learn),
        roots=(team.project, *team.roots) if on_machine else (),
        mistakes=tuple(_worded_for_people(mistake, team.asked) for mistake in team.mistakes),
        read_again=lambda: for_person(team.read_again(), person),
        fill_in=lambda values: for_person(team.fill_in(values), person),
        home=home_of(team, person),
        principal=person.principal,
        administrator=team.home,
    )


def _worded_for_people(mistake: Mistake, asked: Collection[str]) -> Mistake:
    """Return a mistake with a way out for a person who cannot change the team's files, if a secret of theirs is one."""
    error = mistake.error
    if not isinstance(error, UnsetVariableError) or error.variable not in asked or mistake.entry[0] != "servers":
        return mistake
    fix = f"set a secret {error.variable} of your own under Settings on the dashboard"
    told = UnsetVariableError(error.reason, key=error.key, fix=fix, variable=error.variable)
    return replace(mistake, error=told)


def _grant(config: Config, grants: Sequence[GrantSettings], allowed: Sequence[str]) -> Config:
    off = [*MACHINE_PACKS, *(name for name, pack in config.packs.items() if pack.enabled is False)]
    opened = {name: _opens(allowed, name) for name in dict.fromkeys(off)}
    switched = {name for name, server in config.servers.items() if not server.enabled and _opens(allowed, name)}
    policy = GrantedPolicy.model_construct(
        deny=(*config.policy.deny, *(pattern for grant in grants for pattern in grant.deny)),
        ask=(*config.policy.ask, *(pattern for grant in grants for pattern in grant.ask)),
        allow=(*config.policy.allow, *allowed),
        flows=config.policy.flows,
        only_granted=(*INSTALLERS, *(name for name, is_open in opened.items() if is_open), *map(_as_pack, switched)),
        granted=tuple(allowed),
    )
    withheld = WithheldPack.model_construct(enabled=False)
    packs = dict(config.packs)
    for name, is_open in opened.items():
        packs[name] = _changed(config.packs.get(name), enabled=True) if is_open else withheld
    packs[_DATABASES] = _changed(config.packs.get(_DATABASES), files=_opens(allowed, _DATABASES))
    servers = {name: _confined(server, on=name in switched) for name, server in config.servers.items()}
    return config.model_copy(update={"policy": policy, "packs": packs, "servers": servers})


def _limit(config: Config, person: Person) -> Config:
    """Return the configuration with the limits of a person's groups, and room for no more results than these allow."""
    limits = TeamLimits.model_construct(**vars(config.limits.of(person.groups)))
    results = config.results
    if limits.stored_bytes is not None and limits.stored_bytes < results.max_size:
        results = results.model_copy(update={"max_size": limits.stored_bytes})
    return config.model_copy(update={"limits": limits, "results": results})


def _changed(settings: PackSettings | None, **keys: bool) -> PackSettings:
    return (settings or PackSettings.model_construct()).model_copy(update=keys)


def _confined(server: ServerSettings, *, on: bool) -> ServerSettings:
    """Return a server as it is started for one of many people: within bounds, if only those of its own files."""
    changes: dict[str, object] = {"enabled": True} if on else {}
    if server.command is not None and server.confine is None:
        changes["confine"] = ConfineSettings.model_construct()
    return server.model_copy(update=changes) if changes else server


def _opens(patterns: Iterable[str], pack: str) -> bool:
    """True if a pattern of `pack.tool` may name a tool of this pack."""
    return any(fnmatchcase(_as_pack(pack), pattern.partition(".")[0]) for pattern in patterns)


def _as_pack(name: str) -> str:
    return name.replace("-", "_")
