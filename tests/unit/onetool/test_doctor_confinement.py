"""The command that `onetool doctor` names where programs cannot be confined."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetool.doctor.confinement import find_namespace_fix


@pytest.mark.parametrize(
    ("restricted", "fix"),
    [
        ("1\n", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0  # or"),
        ("0\n", "sysctl user.max_user_namespaces"),
        (None, "sysctl user.max_user_namespaces"),
    ],
)
def test_the_setting_that_refuses_user_namespaces_is_named(tmp_path: Path, restricted: str | None, fix: str) -> None:
    (tmp_path / "kernel").mkdir()
    if restricted is not None:
        (tmp_path / "kernel" / "apparmor_restrict_unprivileged_userns").write_text(restricted)

    assert find_namespace_fix(tmp_path).startswith(fix)
