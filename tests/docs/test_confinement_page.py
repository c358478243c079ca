"""The page about confinement is true: its settings are valid, its hosts are hosts, and its header can be read."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ot.config.models import Config
from ot.config.server_settings import ConfineSettings
from ot.workers.header_options import read_confine
from ot.workers.pep723 import parse_header
from ot_confinement.hosts import parse_host

PAGE = (Path(__file__).parents[2] / "docs" / "confinement.md").read_text()
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ROWS = re.findall(r"^\| (`.+?) \| .+ \|$", PAGE, re.MULTILINE)


def test_its_servers_are_valid_and_confined() -> None:
    servers = Config.model_validate(yaml.safe_load(BLOCKS["yaml"])).servers

    assert [name for name, server in servers.items() if server.confine is None] == []


def test_its_tables_have_every_key_and_only_hosts() -> None:
    keys = [row.strip("`") for row in ROWS if row.strip("`") in ConfineSettings.model_fields]
    hosts = [host for row in ROWS if row.strip("`") not in keys for host in re.findall(r"`([^`]+)`", row)]

    assert keys == list(ConfineSettings.model_fields)
    assert len([parse_host(host) for host in hosts]) == 7


def test_its_header_is_read() -> None:
    lines = "".join(f"# {line}\n" for line in BLOCKS["toml"].splitlines())
    header, problem = parse_header(f"# /// script\n{lines}# ///\n")
    assert header is not None, problem

    confine = read_confine(header, Path("/tools/a.py"), project=Path("/project"))

    assert confine is not None
    assert (confine.read, confine.write) == ((Path("/project"),), (Path("/tools/cache"),))
