"""The page about policy: its example is a configuration that does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from ot.config.loader import load_config
from ot.execution.rules import build_guard

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()


def test_the_example_holds_by_the_names_that_the_page_gives(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "onetool.yaml").write_text(example)

    policy = load_config(environ={}, cwd=tmp_path, home=tmp_path).config.policy

    assert build_guard(("my_notes.delete_all", "my-notes.delete-all"), policy).denied_by == "my-notes.delete-*"
    assert build_guard(("mail.resource:inbox",), policy).asked_by == "mail.resource:*"
    assert build_guard(("mail.read",), policy).guarded
    assert [flow.action for flow in build_guard(("my-notes.write",), policy).flows] == ["ask"]
