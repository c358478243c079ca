"""The libraries of the extra `voice`, loaded on first use, so that only those who listen pay for them."""

from __future__ import annotations

import importlib
from types import ModuleType

from ot.errors import MissingVoiceError, VoiceError


def load_library(name: str) -> ModuleType:
    """Import a module by name; raises MissingVoiceError, which says how to install it, or VoiceError."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingVoiceError(name.partition(".")[0], f"{type(error).__name__}: {error}") from error
    except OSError as error:
        # The module is there, a library of the system is not: for sounddevice, and for Moonshine, that is PortAudio.
        reason = f"{error}; it needs a system library (Debian: apt install libportaudio2)"
        raise VoiceError(name.partition(".")[0], reason) from error
