"""What registries, clients and catalogues read: each by the rules of its reader, and all saying the same."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml

from mcp_core.distribution import DISTRIBUTION
from scripts import shop_window
from scripts.pack_extras import ROOT
from scripts.shop_window import LONGEST, read_facts
from tests.shop.programs import claude, mcpb

_PUBLISHED = ("README.md", "docs", "deploy", "publishing")  # what people read, and what is installed from


def test_the_entry_of_the_registry_fits_its_schema_and_readme_proves_who_owns_it() -> None:
    import jsonschema  # with it comes a grammar of addresses, built for two seconds in each worker that collects tests

    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    schema = json.loads(Path(__file__).with_name("server.schema.json").read_text(encoding="utf-8"))

    jsonschema.Draft7Validator(schema).validate(entry)
    assert entry["$schema"] == schema["$id"]
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_manifest_of_the_bundle_is_valid() -> None:
    checked = mcpb("validate", ROOT / "publishing/bundle/manifest.json")

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_key_is_a_secret_everywhere() -> None:
    manifest = json.loads((ROOT / "publishing/bundle/manifest.json").read_text(encoding="utf-8"))
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    catalogue = yaml.safe_load((ROOT / "publishing/docker/server.yaml").read_text(encoding="utf-8"))

    names = set(read_facts().secrets)
    assert names >= {"BRAVE_API_KEY", "GEMINI_API_KEY"}
    [package] = entry["packages"]
    assert {each["name"] for each in package["environmentVariables"] if each.get("isSecret")} == names
    assert {name.upper() for name, each in manifest["user_config"].items() if each.get("sensitive")} == names
    assert {each["env"] for each in catalogue["config"]["secrets"]} == names


@pytest.mark.release
def test_claude_code_installs_the_plugin(tmp_path: Path) -> None:
    for folder in (ROOT, ROOT / "publishing/plugin"):
        checked = claude(tmp_path, "plugin", "validate", "--strict", folder)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    added = claude(tmp_path, "plugin", "marketplace", "add", ROOT)
    installed = claude(tmp_path, "plugin", "install", "onetool@onetool")
    listed = claude(tmp_path, "plugin", "list")

    assert (added.returncode, installed.returncode) == (0, 0), added.stdout + installed.stdout
    assert re.search(r"onetool@onetool\s+Version: \S+\s+Scope: user\s+Status: \S+ enabled", listed.stdout), (
        listed.stdout
    )
    [servers] = (tmp_path / ".claude/plugins/cache").rglob(".mcp.json")
    assert "onetool" in json.loads(servers.read_text(encoding="utf-8"))["mcpServers"]


def test_the_entry_of_the_docker_catalogue_keeps_its_rules() -> None:
    entry = yaml.safe_load((ROOT / "publishing/docker/server.yaml").read_text(encoding="utf-8"))
    title = entry["about"]["title"]

    assert re.fullmatch(r"[a-z0-9-]+", entry["name"])
    assert "MCP" not in title
    assert "Server" not in title
    assert all(word[0].isupper() for word in title.split())
    assert all(re.fullmatch(rf"{entry['name']}\.[\w.-]+", each["name"]) for each in entry["config"]["secrets"])
    assert (ROOT / entry["source"]["dockerfile"]).is_file()


def test_the_description_fits_wherever_it_is_shown() -> None:
    assert len(read_facts().description) <= LONGEST


def test_nobody_is_told_to_install_a_name_that_is_not_ours_yet() -> None:
    if not read_facts().is_placeholder:
        pytest.skip("OneTool has a publisher, so the name is ours")
    told = re.compile(rf"(?:install|uvx|from|with)[^\n]*[\s'\"]{DISTRIBUTION}\b(?!-)")
    found = {str(page.relative_to(ROOT)): told.findall(page.read_text(encoding="utf-8")) for page in _list_pages()}

    assert {page: words for page, words in found.items() if words} == {}


def test_publishing_is_refused_while_the_publisher_is_a_placeholder() -> None:
    command = [sys.executable, "-m", "scripts.shop_window"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    example = replace(read_facts(), namespace="io.github.example", repository="https://github.com/ours/onetool")
    ours = replace(example, namespace="io.github.ours")

    assert (example.is_placeholder, ours.is_placeholder) == (True, False)
    assert ended.returncode == int(read_facts().is_placeholder)
    assert ("publishing/publisher.toml names no publisher" in ended.stderr) is read_facts().is_placeholder


def test_links_and_the_plugin_start_the_package_once_it_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = replace(read_facts(), namespace="io.github.ours", repository="https://github.com/ours/onetool")
    monkeypatch.setattr(shop_window, "read_facts", lambda: ours)
    cursor, code = re.findall(r"`((?:cursor|vscode):\S+)`", shop_window.render_links())
    plugin = json.loads(shop_window.render_shop_window()[ROOT / "publishing/plugin/.mcp.json"])

    [packed] = parse_qs(urlsplit(cursor).query)["config"]
    start = {"command": "uvx", "args": [DISTRIBUTION, "serve"]}
    assert json.loads(base64.b64decode(packed)) == start
    assert json.loads(unquote(code.partition("?")[2])) == {"name": "onetool", **start}
    assert plugin["mcpServers"]["onetool"]["command"] == "uvx"


def _list_pages() -> Iterator[Path]:
    for name in _PUBLISHED:
        place = ROOT / name
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (file for file in found if file.is_file() and file.suffix not in {".png", ".wasm"})
