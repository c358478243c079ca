"""Libraries of the extra `voice`, loaded when they are first used: who does not listen never pays for them."""

from __future__ import annotations

import importlib
from typing import Any

from ot.errors import MissingVoiceError


def load_library(name: str) -> Any:
    """Import a module by name; raises MissingVoiceError, which says how to install it."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: the module is there, a library of the system is not
        raise MissingVoiceError(name.partition(".")[0], f"{type(error).__name__}: {error}") from error
