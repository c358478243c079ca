"""What a package names as its public face is there, and costs nothing before it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "package",
    [
        "mcp_core",
        "mcp_guide",
        "mcp_official",
        "onetool",
        "ot",
        "ot.ai",
        "ot.introspect",
        "ot.isolate",
        "ot.proxy",
        "ot_confinement",
        "ot_tools",
        "ot_voice",
        "zwave_mcp",
    ],
)
def test_every_name_of_a_package_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)

    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert not hasattr(module, "nothing_of_this_name")


def test_a_small_module_of_the_core_does_without_pydantic() -> None:
    program = (
        "import sys, mcp_core.json_types, mcp_core.known_secrets, mcp_core.line_log; print('pydantic' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_what_a_pack_imports_of_the_engine_does_not_load_the_engine() -> None:
    program = "import sys, ot; ot.reads, ot.ToolError; print(*sorted(m for m in sys.modules if m.startswith('ot.')))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "ot.effects ot.errors\n"
