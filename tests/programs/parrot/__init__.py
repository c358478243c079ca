"""A provider that nothing in OneTool names: its model repeats what it hears."""

from __future__ import annotations

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Name


class ParrotSettings(ProviderSettings):
    """A parrot."""

    model: Name = "grey"
    volume: Name = "quiet"


PROVIDER = Provider(name="parrot", settings=ParrotSettings, client="ParrotClient", library="json", secret="PARROT_SEED")
