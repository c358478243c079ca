"""Errors that end any command, as one line for a person. A module of its own: `onetool --help` needs nothing of it."""

from __future__ import annotations

import errno

from onetool.cli import FAILED, USAGE
from onetool.cli.printing import fail
from ot.errors import ConfigError, OneToolError
from ot.execution.wording import word_error
from ot.store.owner import StoreUnavailableError


def report_mistake(error: Exception) -> int:
    match error:
        case OneToolError():
            return fail(f"onetool: {word_error(error)}", USAGE if isinstance(error, ConfigError) else FAILED)
        case StoreUnavailableError():
            return fail(f"onetool: {error.reason}. Try again once the database answers (store in the configuration).")
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            place = f" ({error.filename})" if error.filename else ""
            return fail(f"onetool: a disk that it has to write to is full{place}. Make room on it, and start again.")
    raise error
