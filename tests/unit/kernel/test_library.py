"""The standard library as code finds it: modules that were not imported ahead, imported anew, and their text."""

from __future__ import annotations

import pytest

from ot.kernel.supply import KernelSupply
from tests.unit.kernel.kernels import run


@pytest.mark.parametrize(
    "code",
    [
        "import email.mime.application, http.cookiejar, logging.config, xml.sax.saxutils\nTrue",
        "import sys, bisect\ndel sys.modules['bisect']\nimport bisect as again\nagain is not bisect",
        "import importlib, json\nimportlib.reload(json).dumps([1]) == '[1]'",
        "import inspect, json\n'def dumps(' in inspect.getsource(json.dumps)",
        (
            "import json, traceback\ntry:\n    json.loads('{')\nexcept ValueError:\n    text = traceback.format_exc()\n"
            "'self.scan_once(s, idx)' in text"
        ),
        "import argparse\nargparse.ArgumentParser().format_usage().startswith('usage: -c')",
    ],
    ids=["not imported ahead", "imported anew", "reloaded", "shown", "in a traceback", "names its program"],
)
async def test_the_library_is_all_there(supply: KernelSupply, code: str) -> None:
    assert (await run(supply, code)).value is True


async def test_a_module_that_is_not_there_is_named(supply: KernelSupply) -> None:
    assert (await run(supply, "import nosuch")).error == "ModuleNotFoundError: No module named 'nosuch'"
