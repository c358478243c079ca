"""The surroundings of a tool: its pack's configuration, the secrets it declares, the current call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar

from ot_sdk.errors import ToolError

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from ot_sdk.calls import Call
    from ot_sdk.host import Host
    from ot_sdk.json_types import Json


class ProcessContext:
    """Everything this process was given; a worker serves one extension, so there is only one."""

    def __init__(self) -> None:
        self.host: Host | None = None  # None: run by hand
        self.pack = ""
        self.config: Mapping[str, Json] = {}
        self.secrets: Mapping[str, str | None] = {}  # those the file declares; None: declared, but not set
        self.log_level = 20


PROCESS = ProcessContext()
CURRENT: ContextVar[Call] = ContextVar("ot_sdk_call")


def config() -> Mapping[str, Json]:
    """Return the pack's own keys, `packs.<pack>` of the configuration; empty if the file is run by hand."""
    return PROCESS.config


def secret(name: str) -> str:
    """Return a secret that the file declares (`secrets = ("NAME",)`); by hand, the environment variable of that name.

    Raises ToolError if it is not declared or not set.
    """
    if PROCESS.host is None:
        value = os.environ.get(name)
    elif name in PROCESS.secrets:
        value = PROCESS.secrets[name]
    else:
        raise ToolError(f'the extension does not declare the secret {name}: add secrets = ("{name}",) to its file')
    if not value:
        raise ToolError(f"the secret {name} is not set; put it in secrets.yaml")
    return value
