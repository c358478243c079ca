"""The configuration: its mistakes, the trust in a project, and secrets."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from onetool.doctor import Finding, edit, green, red, yellow
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, SECRETS_FILE
from ot.config.project_trust import project_trust
from ot.errors import ConfigError
from ot.execution.wording import word_error
from ot.registry.registry import ToolRegistry
from ot.trust.project_trust import trust_command


def look_at_configuration(
    loaded: LoadedConfig, mistakes: Sequence[ConfigError], problems: Sequence[str]
) -> Iterator[Finding]:
    """Report every mistake, and the files that were read; `problems` are valid settings that do not work here."""
    yield from map(word_mistake, mistakes)
    for problem in problems:
        yield red("configuration", problem, edit(loaded.files[0] if loaded.files else None))
    for refusal in loaded.refused:
        text = f"{refusal.key} of the project is left out: {refusal.reason}"
        yield yellow("configuration", text, edit(loaded.home / FOLDER / "onetool.yaml"))
    if not mistakes and not problems:
        files = ", ".join(map(str, loaded.files)) or "no file, only defaults"
        yield green("configuration", f"no mistakes ({files})")


def word_mistake(mistake: ConfigError) -> Finding:
    return red("configuration", word_error(mistake), edit(mistake.file))


def look_at_trust(loaded: LoadedConfig) -> Iterator[Finding]:
    trust = project_trust(loaded.project, loaded.home)
    if trust is None or not trust.folder.exists():
        yield green("trust", f"{loaded.project} has no {FOLDER} that needs your trust")
        return
    found = trust.compare()
    for name in found.untrusted:
        state = "has changed since you trusted it" if name in found.changed else "is not trusted"
        yield yellow("trust", f"{FOLDER}/{name} {state}, so it is ignored", trust_command(loaded.project))
    for line in found.refused:
        yield red("trust", f"{FOLDER}/{line}", f"ls -la {shlex.quote(str(trust.folder))}")
    if not found.untrusted and not found.refused:
        yield green("trust", f"everything in {trust.folder} is trusted")


def look_at_secrets(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[Finding]:
    """Report packs whose secret is missing; a pack in the configuration is meant to be used."""
    lacking: dict[str, list[str]] = {}
    for tool in registry.definitions():
        missing = [name for name in tool.secrets if not loaded.secrets.get(name)]
        if missing and len(missing) == len(tool.secrets):  # any one of several is enough
            lacking[tool.pack] = missing
    file = loaded.home / FOLDER / SECRETS_FILE
    for pack in sorted(lacking.keys() & loaded.config.packs.keys()):
        # Only its owner may read the file.
        fix = f"(umask 077; echo {shlex.quote(f'{lacking[pack][0]}: VALUE')} >> {shlex.quote(str(file))})"
        yield yellow("secrets", f"pack {pack} needs the secret {' or '.join(lacking[pack])}", fix)
    unnamed = sorted(lacking.keys() - loaded.config.packs.keys())
    others = ", ".join(f"{pack} ({' or '.join(lacking[pack])})" for pack in unnamed)
    count = len(loaded.secrets.known_values())
    unused = f"; other packs that need one: {others}" if others else ""
    yield green("secrets", f"{count} {'is' if count == 1 else 'are'} known and masked{unused}")
