"""The values that a server asks for: given with the command, or typed; secrets unseen, each under a name of its own."""

from __future__ import annotations

import getpass
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mcp_core.visible_text import visible_line
from onetool.bringing.answers import Answer, Answers
from onetool.bringing.candidate import Candidate, Template, Wanted
from onetool.cli.printing import at_terminal, say
from onetool.foreign.secret_values import Vault
from onetool.foreign.secrets_file import known_secrets, put_secret
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, SECRETS_FILE
from ot.services.mcp_registry import BringingError

_TAKEN = "\0"  # stands for a value that no answer equals, so that its name is not used again


class Asking:
    """Asks for what one server needs; what the person sets beyond that is added to a command of their own."""

    def __init__(self, candidate: Candidate, name: str, options: Namespace, loaded: LoadedConfig) -> None:
        self._name = name
        self._loaded = loaded
        self._file = Path.home() / FOLDER / SECRETS_FILE
        # Neither a secret of the person nor a variable of their environment is taken, or hidden by one of this server.
        self._vault = Vault({**dict.fromkeys(os.environ, _TAKEN), **dict.fromkeys(known_secrets(self._file), _TAKEN)})
        self._given = {**_pairs(options.set, "--set"), **_pairs(options.secret, "--secret")}
        self._secrets = _pairs(options.secret, "--secret").keys()
        self.candidate = self._with_own(candidate)

    def _with_own(self, candidate: Candidate) -> Candidate:
        own = {
            name: name in self._secrets for name in self._given if name not in {each.name for each in candidate.wanted}
        }
        if own and (candidate.publisher or candidate.kind == "mcpb"):
            raise BringingError(f"{self._name} does not ask for {', '.join(own)}")
        added: dict[str, Template] = {name: (Wanted(name, "", secret, required=True),) for name, secret in own.items()}
        if candidate.kind == "remote":
            return replace(candidate, headers={**candidate.headers, **added})
        return replace(candidate, env={**candidate.env, **added})

    def answers(self) -> Answers:
        """Return a value for everything that is required, and for what else was given; raises BringingError."""
        found = {each: self._answer(each) for each in self.candidate.wanted}
        missing = [each.name for each, answer in found.items() if answer is None and each.required]
        if missing:
            raise BringingError(f"{', '.join(missing)} must be given; use a terminal, --set or --secret")
        return {each: answer for each, answer in found.items() if answer is not None}

    def _answer(self, wanted: Wanted) -> Answer | None:
        given = self._given.get(wanted.name)
        if wanted.name in self._secrets and given is not None:
            value = self._loaded.secrets.get(given)
            if not value:
                raise BringingError(f"you have no secret {given}; `onetool secrets set {given}` sets it")
            return Answer.secret(value, given)
        if given is not None and wanted.secret:
            raise BringingError(
                f"{wanted.name} is a secret: `onetool secrets set NAME`, then --secret {wanted.name}=NAME"
            )
        value = given if given is not None else self._typed(wanted)
        if not value:
            return None
        if wanted.choices and value not in wanted.choices:
            raise BringingError(f"{wanted.name} must be one of {', '.join(wanted.choices)}")
        if not wanted.secret:
            return Answer.plain(value)
        # Under the server's name, as any other could be that of a secret which a pack or an extension reads.
        reference = self._vault.keep(f"{self._name}_{wanted.name}", value, owner=self._name)
        return Answer(value, reference)

    def _typed(self, wanted: Wanted) -> str | None:
        if not wanted.required or not at_terminal():
            return wanted.default
        choices = f" ({', '.join(wanted.choices)})" if wanted.choices else ""
        default = f" [{wanted.default}]" if wanted.default is not None else ""
        question = visible_line(f"{wanted.name}{choices}{default}")
        if wanted.secret:  # the prompt comes after the echo is off
            return getpass.getpass(f"{question} (not shown): ") or wanted.default
        say(f"{question}:")
        typed = sys.stdin.readline().rstrip("\n")
        return typed or wanted.default

    def keep_secrets(self, *, keychain: bool) -> None:
        """Write the new secrets down; raises ConfigError."""
        for name, value in self._vault.added.items():
            put_secret(self._file, name, value, keychain=keychain)


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    def pairs() -> Iterator[tuple[str, str]]:
        for text in texts:
            name, separator, value = text.partition("=")
            if not separator or not name:
                raise BringingError(f"{option}: write VARIABLE=...")
            yield name, value

    return dict(pairs())
