"""What registries, clients and catalogues read about OneTool, all made from the same facts; `make docs` writes it.

The version is that of the distribution, the description and the keywords are in pyproject.toml, who publishes it is in
publishing/publisher.toml, and which secrets there are is read from the packs.

    python -m scripts.shop_window    fail while the publisher is a placeholder: run it before anything is published
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import yaml

from mcp_core.distribution import DISTRIBUTION, VERSION
from ot.config.layers import CONFIG_VARIABLE
from scripts.pack_extras import ROOT
from scripts.pack_pages import read_packs

NAME, TITLE = "onetool", "OneTool"
PLACEHOLDER = "example"
LONGEST = 100  # characters of a description, in the registry
_PUBLISHING = ROOT / "publishing"
_MANIFEST = "0.4"  # of a bundle
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_MARKER = re.compile(r"<!-- mcp-name: \S+ -->")
_PINNED = re.compile(r"^([\w.\-\[\]]+==\S+(?: ; .+?)?) \\$", re.MULTILINE)
_CONFIG = "Your configuration file, if it is not ~/.onetool/onetool.yaml"


@dataclass(frozen=True)
class Facts:
    """What all of them say."""

    description: str
    keywords: list[str]
    license: str
    python: str
    namespace: str
    repository: str
    author: str
    secrets: dict[str, str]
    """The names of secrets, and what each is for."""

    @property
    def is_placeholder(self) -> bool:
        return PLACEHOLDER in re.split(r"[./]", f"{self.namespace}/{self.repository}")


@cache
def read_facts() -> Facts:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    publisher = tomllib.loads((_PUBLISHING / "publisher.toml").read_text(encoding="utf-8"))
    return Facts(
        **publisher,
        description=project["description"],
        keywords=project["keywords"],
        license=project["license"],
        python=project["requires-python"],
        secrets={
            name: f"Key for the pack {pack.name}"
            for pack in read_packs()
            for tool in pack.tools.values()
            for name in tool.secrets
        },
    )


def render_shop_window() -> dict[Path, str]:
    """Return every file as it should be."""
    facts = read_facts()
    readme = ROOT / "README.md"
    files = {name: render(facts) for name, render in _FILES.items()}
    return {ROOT / name: text for name, text in files.items()} | {
        readme: _MARKER.sub(f"<!-- mcp-name: {_registry_name(facts)} -->", readme.read_text(encoding="utf-8"))
    }


def render_links() -> str:
    """Return the links that install it in a client with one click; none until the name they install is ours."""
    if read_facts().is_placeholder:
        return "There are no such links yet: they name a package, and OneTool has not been published under its name.\n"
    entry = {"command": "uvx", "args": [DISTRIBUTION, "serve"]}
    packed = base64.b64encode(json.dumps(entry, separators=(",", ":")).encode()).decode()
    code = quote(json.dumps({"name": NAME, **entry}, separators=(",", ":")))
    return (
        "| client | link |\n|---|---|\n"
        f"| Cursor | `cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={quote(packed)}` |\n"
        f"| VS Code | `vscode:mcp/install?{code}` |\n"
    )


# -- one function a file


def _render_registry_entry(facts: Facts) -> str:
    variables = [{"name": CONFIG_VARIABLE, "description": _CONFIG, "format": "filepath"}]
    secrets = [{"name": name, "description": words, "isSecret": True} for name, words in facts.secrets.items()]
    package = {
        "registryType": "pypi",
        "identifier": DISTRIBUTION,
        "version": VERSION,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "serve"}],
        "environmentVariables": [*variables, *secrets],
    }
    return _json(
        {
            "$schema": _SCHEMA,
            "name": _registry_name(facts),
            "title": TITLE,
            "description": facts.description,
            "version": VERSION,
            "repository": {"url": facts.repository, "source": "github"},
            "packages": [package],
        }
    )


def _render_bundle_manifest(facts: Facts) -> str:
    settings: dict[str, object] = {
        "config": {
            "type": "file",
            "title": "Configuration file",
            "description": _CONFIG,
            "required": False,
            "default": "",
        }
    }
    for name, words in facts.secrets.items():
        setting = {"type": "string", "title": name, "description": words, "required": False}
        settings[name.lower()] = {**setting, "sensitive": True, "default": ""}
    environ = {CONFIG_VARIABLE: "${user_config.config}"}
    environ |= {name: f"${{user_config.{name.lower()}}}" for name in facts.secrets}
    start = ["run", "--directory", "${__dirname}", "--no-dev", DISTRIBUTION, "serve"]
    return _json(
        {
            "manifest_version": _MANIFEST,
            "name": NAME,
            "display_name": TITLE,
            "version": VERSION,
            "description": facts.description,
            "author": {"name": facts.author},
            "repository": {"type": "git", "url": facts.repository},
            "server": {
                "type": "uv",
                "entry_point": "pyproject.toml",
                "mcp_config": {"command": "uv", "args": start, "env": environ},
            },
            "tools": [{"name": "run", "description": facts.description}],
            "keywords": facts.keywords,
            "license": facts.license,
            "compatibility": {"platforms": ["linux", "darwin"], "runtimes": {"python": facts.python}},
            "user_config": settings,
        }
    )


def _render_bundle_project(facts: Facts) -> str:
    """Return what `uv` starts the bundle from: the wheel beside it, and the libraries that it was tested with."""
    pinned = _PINNED.findall((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    constraints = "".join(f'    "{line}",\n' for line in pinned)
    return (
        f'[project]\nname = "{NAME}-bundle"\nversion = "{VERSION}"\nrequires-python = "{facts.python}"\n'
        f'dependencies = ["{DISTRIBUTION}[wasm]"]\n\n'
        f'[tool.uv.sources]\n{DISTRIBUTION} = {{ path = "{wheel_name()}" }}\n\n'
        f"[tool.uv]\npackage = false\nconstraint-dependencies = [\n{constraints}]\n"
    )


def _render_catalogue_entry(facts: Facts) -> str:
    secrets = [{"name": f"{NAME}.{each.lower()}", "env": each, "example": "YOUR_KEY"} for each in facts.secrets]
    entry = {
        "name": NAME,
        "image": f"mcp/{NAME}",
        "type": "server",
        "meta": {"category": "devops", "tags": facts.keywords},
        "about": {
            "title": TITLE,
            "description": facts.description,
            "icon": f"{facts.repository}/raw/main/docs/assets/favicon.svg",
        },
        "source": {"project": facts.repository, "dockerfile": "deploy/Containerfile"},
        "run": {"command": ["serve"], "volumes": [f"{NAME}-home:/var/lib/{NAME}"]},
        "config": {"description": "Keys of services, for the packs that ask them", "secrets": secrets},
    }
    head = "# For the catalogue of Docker's MCP servers; who submits it adds source.commit.\n"
    return head + yaml.safe_dump(entry, sort_keys=False, width=120)


def _render_plugin(facts: Facts) -> str:
    return _json(
        {
            "name": NAME,
            "version": VERSION,
            "description": facts.description,
            "author": {"name": facts.author},
            "homepage": facts.repository,
            "repository": facts.repository,
            "license": facts.license,
            "keywords": facts.keywords,
        }
    )


def _render_plugin_servers(facts: Facts) -> str:
    """Return how the plugin starts: until the package is published, the one that is installed, not one by our name."""
    start: list[str] = [NAME] if facts.is_placeholder else ["uvx", f"{DISTRIBUTION}=={VERSION}"]
    return _json({"mcpServers": {NAME: {"command": start[0], "args": [*start[1:], "serve"]}}})


def _render_marketplace(facts: Facts) -> str:
    plugin = {"name": NAME, "source": "./publishing/plugin", "description": facts.description, "version": VERSION}
    words = {"description": f"{TITLE} for Claude Code"}
    return _json({"name": NAME, "owner": {"name": facts.author}, "metadata": words, "plugins": [plugin]})


def _render_index_for_models(facts: Facts) -> str:
    """Return llms.txt: the pages of the docs, with what each begins with, for agents that use OneTool."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r"^ +- ([^:\n]+): (\S+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)
    lines = [f"- [{title}](docs/{page})" for title, page in pages]
    return f"# {TITLE}\n\n> {facts.description}\n\n## Docs\n\n" + "\n".join(lines) + "\n"


_FILES: dict[str, Callable[[Facts], str]] = {
    "server.json": _render_registry_entry,
    "llms.txt": _render_index_for_models,
    ".claude-plugin/marketplace.json": _render_marketplace,
    "publishing/bundle/manifest.json": _render_bundle_manifest,
    "publishing/bundle/pyproject.toml": _render_bundle_project,
    "publishing/docker/server.yaml": _render_catalogue_entry,
    "publishing/plugin/.claude-plugin/plugin.json": _render_plugin,
    "publishing/plugin/.mcp.json": _render_plugin_servers,
}


def wheel_name() -> str:
    return f"{DISTRIBUTION.replace('-', '_')}-{VERSION}-py3-none-any.whl"


def _registry_name(facts: Facts) -> str:
    return f"{facts.namespace}/{NAME}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(
        f"publishing/publisher.toml names no publisher: replace {PLACEHOLDER!r} by your own names, and run `make docs`"
        if read_facts().is_placeholder
        else 0
    )
