"""Configuration: what a person can set, read from files, variables and secrets into frozen models.

A key is described once, on its field (`setting(...)` in `models`): words, default, when it takes effect, which layers
may set or only tighten it. The file of `onetool init`, the reference and the checks are derived from that. A mistake
switches off its entry and nothing else (`mistakes`), but what guards the person is no entry. Sections are classes of
our own, read by `reading` with the rules of pydantic.

One of many people has the team's configuration with another `home` (`personal`): whatever is a file is theirs alone,
packs that reach the machine are off unless granted, servers with a `command` are confined. Their own settings only
tighten, and their secrets fill in nothing but a server's `headers` and `env`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.config.keychain import read_entry
    from ot.config.loader import LoadedConfig, load_config
    from ot.config.models import Config
    from ot.config.project_layer import read_project
    from ot.config.secrets import Secrets
    from ot.config.yaml_reader import read_yaml
else:  # A command that only asks where files lie loads no model.
    __getattr__ = lazy_names(__name__)
