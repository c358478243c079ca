"""What was renamed works under its former name, with a word; today's table is empty, so that these write their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_core.distribution import VERSION
from onetool import cli
from ot import renamed
from ot.config.loader import LoadedConfig, load_config
from ot.errors import ConfigError
from ot.renamed import Renamed
from scripts.renamed import find_faults
from tests.demo_pack import with_demo
from tests.engine import open_engine

LATER = f"{VERSION}.1"


def load(folder: Path, text: str, *, tolerant: bool = False) -> LoadedConfig:
    file = folder / "onetool.yaml"
    file.write_text(text)
    return load_config(file, environ={}, cwd=folder, home=folder, tolerant=tolerant)


@pytest.mark.parametrize(
    ("former", "now", "text"),
    [
        ("results.keep", "results.keep_for", "results: {keep: 60}"),
        ("keeping.results", "results.keep_for", "keeping: {results: 60}\nresults: {inline_limit: 10}"),
        ("keep_results", "results.keep_for", "keep_results: 60"),
    ],
)
def test_a_key_counts_under_its_former_name(
    former: str, now: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renamed, "KEYS", (entry := Renamed(former, now, LATER),))

    loaded = load(tmp_path, text)

    assert loaded.config.results.keep_for == 60
    assert loaded.renamed == ((tmp_path / "onetool.yaml", entry),)
    assert entry.words == f"{former} is now {now}; the former name works until OneTool {LATER}"


def test_a_key_of_each_entry_counts_under_its_former_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "KEYS", (Renamed("servers.*.program", "servers.*.command", LATER),))
    text = "servers: {a: {program: one}, b: {command: two}}"

    config = load(tmp_path, text).config

    assert {name: server.command for name, server in config.servers.items()} == {"a": "one", "b": "two"}


def test_a_key_under_both_names_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "KEYS", (Renamed("policy.forbid", "policy.deny", LATER),))

    with pytest.raises(ConfigError) as raised:
        load(tmp_path, "policy: {forbid: [a.b], deny: []}", tolerant=True)

    assert (raised.value.key, raised.value.reason) == ("policy.forbid", "stands there as policy.deny too")


async def test_a_tool_is_called_by_its_former_name_which_rules_still_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Renamed("demo.capitals", "demo.upper", LATER)
    monkeypatch.setattr(renamed, "TOOLS", (entry,))
    (tmp_path / "denied").mkdir()

    async with open_engine(tmp_path) as app:
        answer = await app.runner.run("demo.capitals(text='hello')")
        plain = await app.runner.run("demo.upper(text='hello')")
    async with open_engine(tmp_path / "denied", config=with_demo("policy: {deny: [demo.capitals]}"), demo=False) as app:
        refused = await app.runner.run("demo.upper(text='hello')")

    assert answer.text == f"HELLO\n{entry.words}"
    assert plain.text == "HELLO"
    assert refused.is_error
    assert "policy" in refused.text


def test_a_command_is_run_by_its_former_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(renamed, "COMMANDS", (entry := Renamed("where-sdk", "sdk-path", LATER),))

    assert cli.main(["where-sdk"]) == 0
    told = capsys.readouterr()

    assert told.err == f"onetool: {entry.words}\n"
    assert cli.main(["sdk-path"]) == 0
    assert capsys.readouterr().out == told.out


@pytest.mark.parametrize(
    ("entry", "pages", "fault"),
    [
        (Renamed("a.old", "a.new", LATER), "a.older and a.old.too", ""),
        (Renamed("a.new", "a.other", LATER), "", "it is there"),
        (Renamed("a.old", "a.gone", LATER), "", "which is not there"),
        (Renamed("a.old", "b.new", LATER), "", "would move to another pack"),
        (Renamed("a.old", "a.new", VERSION), "", "remove it from src/ot/renamed.py"),
        (Renamed("a.old", "a.new", LATER), "call `a.old` now", "is still on a page"),
    ],
)
def test_the_table_is_checked(entry: Renamed, pages: str, fault: str) -> None:
    faults = list(find_faults("tool", (entry,), ["a.new", "a.other", "b.new"], pages))

    assert len(faults) == bool(fault)
    assert all(fault in each for each in faults)
