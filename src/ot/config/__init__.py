"""Configuration: what a person can set, read from files, variables and secrets into frozen models."""

from __future__ import annotations

from ot.config.loader import LoadedConfig, load_config
from ot.config.models import Config
from ot.config.secrets import Secrets

__all__ = ["Config", "LoadedConfig", "Secrets", "load_config"]
