"""Plain requests over the built-in packs and ten common servers, and what `ot.help` names first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ot.config.models import Config
from ot.introspect.help import Catalogue, Help
from ot.parts.known_tools import find_built_in_packs
from ot.registry.from_schema import define_pack
from ot.registry.from_source import read_pack
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader

AMONG = 3
_FOLDER = Path(__file__).parent / "requests"
_TOOL = re.compile(r"(\w+)\(([\w, ]*)\): (.+)")

Requests = dict[str, list[str]]
"""What somebody types, and the tools that are a right answer."""


def read_requests(name: str = "requests") -> Requests:
    found: Requests = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def known_tools() -> ToolRegistry:
    """The built-in packs as they are without a configuration, and the servers."""
    registry = ToolRegistry()
    for file in (each for folder in find_built_in_packs() for each in ToolLoader.pack_files(folder)):
        pack = read_pack(file)
        registry.register_pack(pack, dict.fromkeys(pack.tools, _never_called))
    PackPlaces(registry, {})
    for server, lines in yaml.safe_load((_FOLDER / "servers.yaml").read_text(encoding="utf-8")).items():
        pack = define_pack(server, server, [_read_tool(line) for line in lines])
        registry.register_pack(pack, dict.fromkeys(pack.tools, _never_called))
    return registry


async def find_first(requests: Mapping[str, list[str]], registry: ToolRegistry) -> dict[str, list[str]]:
    """The names that the answer to each request begins with, best first."""
    config = Config()
    catalogue = Catalogue(registry.definitions(), registry.packs(), config, registry.switched_off_packs())
    answers = Help(registry, config, catalogue, lambda _: ("", {}), lambda tool: tool.python_signature)
    texts = {request: await answers.answer([request], "min") for request in requests}
    return {request: re.findall(r"^- ([\w]+\.[\w]+):", text, re.MULTILINE)[:AMONG] for request, text in texts.items()}


def missed(requests: Requests, found: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Requests none of whose right tools is among the first, with what is."""
    return {request: found[request] for request, right in requests.items() if not set(right) & set(found[request])}


def _read_tool(line: str) -> dict[str, Any]:
    match = _TOOL.fullmatch(line)
    assert match is not None, line
    name, parameters, description = match.groups()
    properties: dict[str, Any] = {each: {} for each in parameters.split(", ") if each}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


async def _never_called(_: dict[str, Any]) -> None:
    raise AssertionError
