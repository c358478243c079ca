"""The command that `onetool doctor` names where programs cannot be confined."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetool.doctor.confinement import find_namespace_fix


@pytest.mark.parametrize(
    ("file", "text", "fix"),
    [
        ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "sudo sysctl kernel.apparmor_restrict_unpriv"),
        ("sys/kernel/apparmor_restrict_unprivileged_userns", "0\n", "sysctl user.max_user_namespaces"),
        ("self/status", "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n", "grep Seccomp: /proc/self/status"),
        ("self/status", "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n", "sysctl user.max_user_namespaces"),
    ],
)
def test_what_refuses_user_namespaces_is_named(tmp_path: Path, file: str, text: str, fix: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)

    assert find_namespace_fix(tmp_path).startswith(fix)
