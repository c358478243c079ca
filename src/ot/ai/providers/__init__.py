"""The providers of models, a folder each.

A folder's `__init__` holds the provider's section of the configuration and `PROVIDER`, its description, without
importing its library; `model` holds `open_model`, which may import the library.
"""

from __future__ import annotations

# The configuration reads these folders while it is loaded: whoever comes here first must not find one half loaded.
from ot.config.providers import Provider, ProviderSettings, find_providers

__all__ = ["Provider", "ProviderSettings", "find_providers"]
