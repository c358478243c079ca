"""An OpenAPI description as it was read: plain values, hostile until looked at, and its references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_core.json_types import Schema, list_of, look_up, mapping_of
from ot.config.yaml_reader import read_yaml
from ot.errors import ConfigError

MAX_BYTES = 16 * 2**20
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LONGEST_CHAIN = 20


class DescriptionError(Exception):
    """A file from which no pack can be generated; the text says why."""


class Description:
    def __init__(self, root: Mapping[str, object]) -> None:
        self._root, info = root, mapping_of(root.get("info"))
        self.title = text_of(info.get("title"))
        self.summary = text_of(info.get("summary")) or text_of(info.get("description"))
        self.security = root.get("security")  # the requirements of operations that have none of their own

    def server(self, *owners: Mapping[str, object]) -> str:
        """Return the address of the first server that the nearest owner names, variables filled in."""
        for owner in (*owners, self._root):
            for server in map(mapping_of, list_of(owner.get("servers"))[:1]):
                address = text_of(server.get("url"))
                for name, variable in mapping_of(server.get("variables")).items():
                    address = address.replace(f"{{{name}}}", text_of(mapping_of(variable).get("default")))
                return address
        return ""

    def paths(self) -> Iterator[tuple[str, str, Schema, Schema]]:
        """Yield path, method, the path's own object and the operation, in the order of the file."""
        for path, item in mapping_of(self._root.get("paths")).items():
            found = self.resolve(item)
            for method in METHODS:
                if isinstance(found.get(method), dict):
                    yield str(path), method, found, mapping_of(found[method])

    def scheme(self, name: str) -> Schema:
        return self.resolve(mapping_of(mapping_of(self._root.get("components")).get("securitySchemes")).get(name))

    def resolve(self, value: object) -> Schema:
        """Return the object that a chain of references leads to; empty if it leads nowhere, outside, or in a circle."""
        for _ in range(_LONGEST_CHAIN):
            found = mapping_of(value)
            if not isinstance(found.get("$ref"), str):
                return found
            value = look_up(self._root, found["$ref"])
        return {}


def read_description(file: Path) -> Description:
    """Read a description, JSON or YAML, of OpenAPI 3.0 or 3.1; raises DescriptionError."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise DescriptionError(f"{file} has more than {MAX_BYTES // 2**20} MB")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DescriptionError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{file} is not UTF-8 (byte {error.start})") from error
    try:
        root = json.loads(text) if text.lstrip().startswith("{") else read_yaml(text, file=file, private=False)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"{file} is not JSON: {error}") from error
    except ConfigError as error:
        raise DescriptionError(str(error)) from error
    if not isinstance(root, dict) or not ("openapi" in root or "swagger" in root):
        raise DescriptionError(f"{file} is not an OpenAPI description: it has no key openapi")
    version = str(root.get("openapi", root.get("swagger")))
    if not version.startswith(("3.0", "3.1")):
        raise DescriptionError(f"{file} has version {version[:20]}; convert it to OpenAPI 3.0 or 3.1")
    return Description(root)


def text_of(value: object) -> str:
    """Return a text on one line, without unprintable characters; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())
