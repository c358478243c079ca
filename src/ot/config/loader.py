"""Loads the configuration: finds the files, reads them in layers, checks each one and merges them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from mcp_core.nearest_names import nearest
from mcp_core.quick_dataclass import dataclass, field
from ot import config as config_room
from ot.clients.person import LOCAL
from ot.config.documents import Documents, RememberedFiles
from ot.config.layers import CONFIG_VARIABLE, TOKEN_VARIABLE, LayerReader, NearLayer, merge, read_environment
from ot.config.mistakes import UNFINISHED, Layer, Mistake, Mistakes, explain
from ot.config.models import Config, with_strangers
from ot.config.paths import CONFIG_FILE, PROMPTS_FILE, SECRETS_FILE, absolute, find_file, find_places, state_folder
from ot.config.reading import SettingsError
from ot.config.secrets import Secrets, Variables, read_secrets
from ot.config.tightening import Refusal, Tightening, guard_sections, guards_of, keep_guards
from ot.errors import ConfigError, KeychainError
from ot.renamed import Renamed
from ot.text.redaction import Redactor
from ot.trust.project_trust import Untrusted


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration and where it came from; `files` are those read, nearest first, without secrets."""

    config: Config
    secrets: Secrets
    redactor: Redactor  # shared by logs and answers: what either learns is hidden by both
    files: tuple[Path, ...]
    project: Path
    roots: tuple[Path, ...]  # the person's own `projects` and `roots`: a project's file opens nothing to tools
    refused: tuple[Refusal, ...]  # what the project's file says and may not say
    untrusted: Untrusted  # what of the project is not in force, because nobody has trusted it
    mistakes: tuple[Mistake, ...]  # what is off, because it is wrong
    renamed: tuple[tuple[Path, Renamed], ...]  # keys that files have under their former names
    # The same places as they are by then; raises ConfigError. Not shown: it holds the environment.
    read_again: Callable[[], LoadedConfig] = field(repr=False, compare=False)
    # The same files as they were, with these secrets of one of many people in the headers and variables of servers.
    fill_in: Callable[[Mapping[str, str]], LoadedConfig] = field(repr=False, compare=False)
    home: Path = field(default_factory=Path.home)
    principal: str = LOCAL  # whose it is
    asked: frozenset[str] = frozenset()  # the names that `fill_in` fills in
    administrator: Path | None = None  # the home of who looks after a server that many share; None: nobody shares it

    @property
    def machine_home(self) -> Path:
        """The home that extensions, and environments for libraries, belong to."""
        return self.administrator or self.home


def load_config(
    explicit: Path | None = None,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    home: Path,
    tolerant: bool = False,
    every: list[ConfigError] | None = None,
    documents: Documents | None = None,
    personal: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Read everything that applies to `cwd`, or raise one ConfigError.

    `ONETOOL_*` variables come first, then the project's file, then the person's in `home`, then the defaults. Mappings
    are merged key by key at every depth, lists and single values replace what stands farther away; but a project's
    file only adds and tightens (`tightening.py`). A file named by `explicit` or `ONETOOL_CONFIG` takes the place of
    both files; the person's secrets still apply, and what guards the person in their own file. If `tolerant`, a mistake
    in an entry only switches that entry off (`mistakes.py`), and `every` gets each one, also before another is raised.
    `documents` are files that have been read before, `personal` the secrets of one of many people for their servers.
    """
    documents = documents or RememberedFiles()
    cwd, home = cwd.absolute(), home.absolute()
    mistakes = Mistakes(Config.settings, tolerant=tolerant, every=every)
    named = _named_file(explicit, environ, cwd=cwd, home=home)
    places = find_places(cwd=cwd, home=home, named=named)
    own = read_secrets(find_file(places.home_folder, SECRETS_FILE), documents)
    variables = filling = Variables(own, environ, personal=personal)
    sections = None if named is None else guard_sections()
    reader = LayerReader(variables, home=home, documents=documents, sections=sections, mistakes=mistakes)
    far = reader.read(*(find_file(places.home_folder, name) for name in (CONFIG_FILE, PROMPTS_FILE)))
    environment = read_environment(environ, cwd=cwd, home=home)

    if named is None:
        taken = _started_at_home(_merged(far), home)
        near = NearLayer([], {}, frozenset(), Untrusted(places.project))
        if places.project_folder is not None:  # most folders are no project, and do not load what reads one
            near = config_room.read_project(
                places.project_folder, state=state_folder(home), home=home, variables=(own, environ),
                taken=taken, mistakes=mistakes,
            )  # fmt: skip
        layers = [*environment, *near.layers, *far]
        _check(layers, mistakes)
        person = mistakes.leave_out(taken)
        tightening = Tightening(places.project)
        merged = tightening.apply(person, mistakes.leave_out(_merged(near.layers)))
        refused = tuple(tightening.refused)
    else:
        beside = read_secrets(find_file(named.parent, SECRETS_FILE), documents)
        filling = Variables({**own, **beside}, environ, personal=personal)
        reader = LayerReader(filling, home=home, documents=documents, mistakes=mistakes)
        near = _read_named(named, reader, filling, beside)
        layers = [*environment, *near.layers, *(layer for layer in far if layer.values)]
        _check(layers, mistakes)
        values = mistakes.leave_out(_merged(near.layers))
        person = values if named.is_relative_to(places.project) else _started_at_home(values, home)
        merged, refused = keep_guards(guards_of(_merged(far)), person), ()

    substituted = {*variables.substituted, *near.substituted, environ.get(TOKEN_VARIABLE, "")}
    if named is None:
        secrets = Secrets(own, project=near.secrets, environ=environ, substituted=substituted)
    else:
        secrets = Secrets({**own, **near.secrets}, environ=environ, substituted=substituted)
    config = _build(merge(merged, _merged(environment)), layers, mistakes)
    if config.auth.in_force and (variables.entries or filling.entries or secrets.deferred(own)):
        fix = "put the values into secrets.yaml or the environment"
        raise KeychainError("a server for several people gets nothing from a keychain", key="auth", fix=fix)
    return LoadedConfig(
        config=config,
        secrets=secrets,
        redactor=Redactor(secrets.known_values()),
        files=tuple(layer.source for layer in layers if isinstance(layer.source, Path)),
        project=places.project,
        roots=(*_own_projects(config, person), *config.roots),
        refused=refused,
        untrusted=near.untrusted,
        mistakes=tuple(mistakes.found),
        renamed=tuple(mistakes.renamed),
        read_again=partial(load_config, explicit, environ=environ, cwd=cwd, home=home, tolerant=tolerant),
        fill_in=lambda values: load_config(
            explicit, environ=environ, cwd=cwd, home=home, tolerant=True, documents=documents, personal=values
        ),
        asked=frozenset(variables.asked) | near.asked,
        home=home,
    )


def _named_file(explicit: Path | None, environ: Mapping[str, str], *, cwd: Path, home: Path) -> Path | None:
    text = str(explicit) if explicit is not None else environ.get(CONFIG_VARIABLE, "").strip()
    return absolute(text, folder=cwd, home=home) if text else None


def _read_named(file: Path, reader: LayerReader, filling: Variables, secrets: Mapping[str, str]) -> NearLayer:
    """Read a file that the person names, which is trust, with the prompts beside it; `secrets` are those beside it."""
    layers = reader.read(file, find_file(file.parent, PROMPTS_FILE))
    untrusted = Untrusted(file.parent)
    return NearLayer(layers, secrets, frozenset(filling.substituted), untrusted, frozenset(filling.asked))


def _check(layers: Sequence[Layer], mistakes: Mistakes) -> None:
    """Check each layer by itself, so that a mistake is found in its own file, also one that a nearer layer covers."""
    for layer in reversed(layers):
        _validate(layer.values, [layer], mistakes, leave_out=UNFINISHED)
    mistakes.settle()


def _merged(layers: Sequence[Layer]) -> dict[object, object]:
    """The layers of one owner, nearest first, as one mapping."""
    values: dict[object, object] = {}
    for layer in reversed(layers):
        values = merge(values, layer.values)
    return values


def _started_at_home(values: dict[object, object], home: Path) -> dict[object, object]:
    """Let programs of the person start in their home: a project's files could take the place of what they need."""
    servers = values.get("servers")
    if not isinstance(servers, dict):
        return values
    placed = dict(servers)
    for name, server in servers.items():
        if isinstance(server, dict) and server.get("command") is not None and server.get("cwd") is None:
            placed[name] = {**server, "cwd": str(home)}
    return {**values, "servers": placed}


def _own_projects(config: Config, person: Mapping[object, object]) -> list[Path]:
    """Return the folders of the projects that the person has named, and not the project's file."""
    projects = person.get("projects")
    named = projects if isinstance(projects, dict) else {}
    paths = {name: said.get("path") for name, said in named.items() if isinstance(said, dict)}
    return [item.path for name, item in config.projects.items() if paths.get(name) == str(item.path)]


def _build(merged: Mapping[object, object], layers: Sequence[Layer], mistakes: Mistakes) -> Config:
    """Build the whole, with which only what is still unfinished can be wrong."""
    # Without any layer nothing has to be read, and no type of a setting looked at.
    while True:
        known = len(mistakes.found)
        values = mistakes.switch_off(merged)
        config = _validate(values, layers, mistakes) if values else Config.model_construct()
        if config is not None:
            _check_aliases(config, layers, mistakes)
        mistakes.settle()
        if config is not None and len(mistakes.found) == known:
            return with_strangers(config)


def _validate(
    values: Mapping[object, object], layers: Sequence[Layer], mistakes: Mistakes, *, leave_out: Collection[str] = ()
) -> Config | None:
    try:
        return Config.model_validate(values)
    except SettingsError as error:
        failure = error
    # Outside the handler: what this raises says all of it, and carries nothing else along.
    explain(failure, layers, mistakes, leave_out=leave_out)
    return None


def _check_aliases(config: Config, layers: Sequence[Layer], mistakes: Mistakes) -> None:
    """Check that a target without a dot is another alias; circles among aliases are found when they are used."""
    named = [(layer.source, layer.values.get("aliases")) for layer in layers if isinstance(layer.source, Path)]
    for name, target in config.aliases.items():
        if "." in target or target in config.aliases:
            continue
        others = nearest(target, (other for other in config.aliases if other != name))
        reason = f'"{target}" is neither a tool nor another alias'
        fix = 'write it as pack.tool, for example "brave.web_search"' + (f", or {others[0]}" if others else "")
        file = next((file for file, aliases in named if isinstance(aliases, dict) and name in aliases), None)
        mistakes.add(("aliases", name), ConfigError(reason, file=file, key=f"aliases.{name}", fix=fix))
