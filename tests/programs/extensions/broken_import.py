"""Cannot be imported."""

import module_that_nobody_has


def tool() -> None: ...
