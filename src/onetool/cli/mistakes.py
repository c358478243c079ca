"""Errors that end any command, as one line for a person. A module of its own: `onetool --help` needs nothing of it."""

from __future__ import annotations

from onetool.cli import FAILED, USAGE
from onetool.cli.printing import complain
from ot.errors import ConfigError, OneToolError
from ot.execution.wording import word_error
from ot.store.unavailable import StoreUnavailableError


def report_mistake(error: Exception) -> int:
    """Report an error that a person can act on, and return the exit status; any other is raised again."""
    match error:
        case OneToolError():
            complain(f"onetool: {word_error(error)}")
            return USAGE if isinstance(error, ConfigError) else FAILED
        case StoreUnavailableError():
            complain(f"onetool: {error.reason}. Try again once the database answers (store in the configuration).")
            return FAILED
    raise error
