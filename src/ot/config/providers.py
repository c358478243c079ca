"""The providers of the assistant's models: a folder of `ot/ai/providers` each, found on disk as packs are.

A folder's `__init__` describes the provider (`PROVIDER`) and imports no library of it, so that the configuration, the
commands and the keys can read the description. A new provider is a new folder; nothing else names one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, TypeVar

from mcp_core.quick_dataclass import dataclass
from ot.config.reading import After, Before
from ot.config.section import Name, Section, setting, with_key, words_from
from ot.config.values import REQUIRED, mistake, read_word

PROVIDERS_PACKAGE = "ot.ai.providers"
S = TypeVar("S", bound=Section)


class ProviderSettings(Section):
    """The section `ai.<provider>`."""

    model: Name = setting(REQUIRED, "the model that answers")


@dataclass(frozen=True, slots=True)
class Provider:
    """The description of a provider, readable before its library is loaded."""

    name: str  # of its folder, its section of the configuration, and the extra that installs its library
    settings: type[ProviderSettings]
    library: str  # the module that the extra brings
    secret: str  # the name of its key
    needs_key: bool = True
    page: str = ""  # where a person gets a key

    @property
    def package(self) -> str:
        return f"{PROVIDERS_PACKAGE}.{self.name}"


@cache
def find_providers() -> Mapping[str, Provider]:
    """Return every provider by its name, sorted."""
    folder = Path(__file__).parents[1] / "ai" / "providers"
    names = sorted(entry.parent.name for entry in folder.glob("*/__init__.py"))
    found = [importlib.import_module(f"{PROVIDERS_PACKAGE}.{name}").PROVIDER for name in names]
    return MappingProxyType({provider.name: provider for provider in found})


def with_provider_sections(settings: type[S]) -> type[S]:
    """Add a section for each provider to the keys of a class of settings."""
    for one in find_providers().values():
        settings = with_key(one.name, one.settings, words_from(one.settings), one.settings.model_construct())(settings)
    return settings


def check_provider(name: str) -> str:
    """Return the name of a provider if there is one of that name; raises a mistake otherwise."""
    if name not in find_providers():
        raise mistake(f"must be {' or '.join(map(repr, find_providers()))}", "write one of these words")
    return name


ProviderName = Annotated[str, Before(read_word), After(check_provider)]
