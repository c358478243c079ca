"""Secrets that one of many people has set for themselves, sealed in the store."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping

from mcp_core.known_secrets import SHORTEST
from mcp_core.quick_dataclass import replace
from ot.config.loader import LoadedConfig
from ot.config.secrets import is_name
from ot.logs import write_log
from ot.store.sealing import SECRETS, SECRETS_DOCUMENT, Sealer, SealError, digest_of_person, place_of
from ot.store.shelf import Shelf

MOST_SECRETS = 200
LONGEST_SECRET = 64 * 1024  # characters


class PersonalSecrets:
    """Names and values, as one sealed document on a person's shelf. Writing blocks, and raises OSError or SealError."""

    def __init__(self, shelf: Shelf, principal: str, sealer: Callable[[], Sealer]) -> None:
        self._shelf = shelf
        self._principal = principal
        self._place = place_of(SECRETS, digest_of_person(principal))
        self._sealer = sealer

    def state(self) -> tuple[int, ...]:
        """Return something that changes with them, or with the keys that open them, at the cost of a `stat` or two."""
        found = self._shelf.state(SECRETS_DOCUMENT)
        return (*found, *(int(key, 16) for key in self._sealer().ids)) if found else ()

    def names(self) -> list[str]:
        return sorted(self.read())

    def read(self) -> dict[str, str]:
        """Return the values by name; raises OSError or SealError, with a line in the log, if they cannot be opened."""
        try:
            try:
                return self._open(self._shelf.read(SECRETS_DOCUMENT))
            except SealError:  # the copy of this machine may be older than the keys
                self._shelf.catch_up()
                return self._open(self._shelf.read(SECRETS_DOCUMENT))
        except FileNotFoundError:
            return {}
        except (OSError, SealError) as error:
            write_log(logging.ERROR, "secrets.personal", reason=str(error))
            raise

    def put(self, name: str, value: str) -> None:
        """Keep a secret, also in place of an earlier one; raises ValueError with words for the person."""
        if not is_name(name):
            allowed = "only letters, digits and _, and must not start with a digit"
            raise ValueError(f"the name of a secret may contain {allowed}")
        if not value or len(value) > LONGEST_SECRET:
            raise ValueError(f"a secret must have 1 to {LONGEST_SECRET:,} characters")
        if len(value) >= SHORTEST and value in self._principal:  # shorter ones are masked nowhere
            raise ValueError("a secret must not be part of your own name: the log would mask who you are")
        self._change(lambda known: {**known, name: value})

    def remove(self, name: str) -> None:
        """Forget a secret; one that is not there is no mistake."""
        self._change(lambda known: {each: value for each, value in known.items() if each != name})

    def _change(self, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        def sealed(before: bytes | None) -> bytes:
            found = change({} if before is None else self._open(before))
            if len(found) > MOST_SECRETS:
                raise ValueError(f"you already have {MOST_SECRETS} secrets; remove one first")
            return self._sealer().seal(json.dumps(dict(found)).encode(), place=self._place).encode()

        self._shelf.update(SECRETS_DOCUMENT, sealed)

    def _open(self, document: bytes) -> dict[str, str]:
        found = json.loads(self._sealer().open(document.decode(errors="replace"), place=self._place))
        return {str(name): str(value) for name, value in found.items()}


def with_own_secrets(loaded: LoadedConfig, own: PersonalSecrets) -> LoadedConfig:
    """Return a configuration in which a person's own secrets come before those that all have, also for servers."""
    try:
        values = own.read()
    except (OSError, SealError):
        return replace(loaded, secrets=loaded.secrets.overlaid({}, unreadable=True))
    if not values:
        return loaded
    secrets = loaded.secrets.overlaid(values)
    for value in secrets.known_values():
        loaded.redactor.learn(value)
    if loaded.asked.isdisjoint(values):
        return replace(loaded, secrets=secrets)
    filled = loaded.fill_in(values)
    return replace(loaded, secrets=secrets, config=filled.config, mistakes=filled.mistakes)
