"""The page about policy: its example is a configuration that does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from ot.config.loader import load_config
from ot.config.models import PolicySettings
from ot.execution.conditions import fits
from ot.execution.rules import build_guard
from ot.flows.known import own_values, without_own

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()


EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def load_policy(folder: Path, example: str) -> PolicySettings:
    (folder / ".onetool").mkdir()
    (folder / ".onetool" / "onetool.yaml").write_text(example)
    return load_config(environ={}, cwd=folder, home=folder).config.policy


def test_the_example_holds_by_the_names_that_the_page_gives(tmp_path: Path) -> None:
    policy = load_policy(tmp_path, EXAMPLES[0])

    assert build_guard(("my_notes.delete_all", "my-notes.delete-all"), policy).denied_by == "my-notes.delete-*"
    assert build_guard(("mail.resource:inbox",), policy).asked_by == "mail.resource:*"
    assert build_guard(("mail.read",), policy).guarded
    assert [found.flow.action for found in build_guard(("my-notes.write",), policy).flows] == ["ask"]


def test_rules_on_arguments_are_worded_as_the_page_says(tmp_path: Path) -> None:
    guard = build_guard(("mail.send",), load_policy(tmp_path, EXAMPLES[1]))

    [asked] = guard.asked_if
    assert f"`{asked}`" in PAGE
    assert fits(asked, {"to": "ann@ours.example, eve@evil.example"})
    assert [str(rule) for rule in guard.denied_if] == ["mail.send, more than 5 per run"]


def test_values_that_are_known_fit_as_the_page_says(tmp_path: Path) -> None:
    [example] = [example for example in EXAMPLES if "known:" in example]
    own = own_values(load_policy(tmp_path, example).known)

    assert own is not None
    assert without_own("Ann <ann@ours.example>, DE89 3704 0044 0532 0130 00", own).split() == ["Ann", ","]
    for disguised in (
        "ann@ours.example.evil.example",
        '"ann@ours.example"@evil.example',
    ):
        assert disguised in PAGE
        assert without_own(disguised, own) == disguised
