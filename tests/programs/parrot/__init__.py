"""A provider that nothing in OneTool names: its model repeats what it hears."""

from __future__ import annotations

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Name
from ot.config.section import setting


class ParrotSettings(ProviderSettings):
    """A parrot."""

    model: Name = setting("grey", "which parrot")
    volume: Name = setting("quiet", "how loudly it speaks")


PROVIDER = Provider(name="parrot", settings=ParrotSettings, library="json", secret="PARROT_SEED")
