"""Configuration: what a person can set, read from files, variables and secrets into frozen models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.config.loader import LoadedConfig, load_config
    from ot.config.models import Config
    from ot.config.project_layer import read_project
    from ot.config.secrets import Secrets
    from ot.config.yaml_reader import read_yaml
else:  # A command that only asks where files lie loads no model.
    __getattr__ = lazy_names(__name__)
