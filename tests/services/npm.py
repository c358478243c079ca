"""An npm registry, played from the description of its API (github.com/npm/registry, package-metadata.md)."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field

from mcp_core.json_types import Json
from tests.services.played import PlayedService, Reply, Request

ABBREVIATED = "application/vnd.npm.install-v1+json"
_SHORT = (
    "name",
    "version",
    "dependencies",
    "optionalDependencies",
    "peerDependencies",
    "engines",
    "deprecated",
    "dist",
)


@dataclass(frozen=True, slots=True)
class Module:
    """A version of a package."""

    name: str
    version: str
    needs: dict[str, str] = field(default_factory=dict)
    node: str = ">=18"
    deprecated: str = ""
    released: str = "2026-01-02T03:04:05.000Z"
    more: dict[str, Json] = field(default_factory=dict)  # of its manifest
    files: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        manifest = {"name": self.name, "version": self.version, "dependencies": self.needs, **self.more}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, text in {"package.json": json.dumps(manifest), **self.files}.items():
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        return gzip.compress(buffer.getvalue(), mtime=0)

    def manifest(self, address: str) -> dict[str, Json]:
        digest = hashlib.sha512(self.content).digest()
        dist: Json = {
            "integrity": f"sha512-{base64.b64encode(digest).decode()}",
            "shasum": hashlib.sha1(self.content, usedforsecurity=False).hexdigest(),
            "tarball": f"{address}/{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz",
        }
        value: dict[str, Json] = {
            "name": self.name,
            "version": self.version,
            "description": "What the tests install",
            "license": "MIT",
            "homepage": "https://pages.example/",
            "repository": {
                "type": "git",
                "url": f"git+ssh://git@github.com/example/{self.name.rpartition('/')[2]}.git",
            },
            "dependencies": dict(self.needs),
            "engines": {"node": self.node},
            "dist": dist,
            **self.more,
        }
        return value | ({"deprecated": self.deprecated} if self.deprecated else {})


MODULES = (
    Module("react", "18.2.0", {"loose-envify": "^1.1.0"}, node=">=0.10.0"),
    Module("react", "18.3.0", {"loose-envify": "^1.1.0"}, deprecated="use 18.3.1"),
    Module("react", "18.3.1", {"tslib": "^2.0.0"}),
    Module("react", "19.0.0", released="2026-05-06T07:08:09.000Z"),
    Module("react", "19.1.0-rc.1"),
    Module("loose-envify", "1.4.0"),
    Module("tslib", "2.8.0"),
    Module("@corp/inner", "1.0.0"),
    Module("@corp/inner", "1.1.0"),
)


class PlayedNpm(PlayedService):
    """Knows the abbreviated form of a document unless it is an `old` one; with a `token`, it wants that."""

    def __init__(self, modules: tuple[Module, ...] = MODULES, *, old: bool = False, token: str = "") -> None:
        super().__init__()
        self.modules = modules
        self.old = old
        self.token = token

    def answer(self, request: Request) -> Reply:
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return Reply(401, {"error": f"{request.headers.get('authorization')} is not authorized"})
        name, _, rest = request.path[1:].partition("/-/")
        if rest:
            files = {f"{each.name}/{each.name.rpartition('/')[2]}-{each.version}.tgz": each for each in self.modules}
            found = files.get(f"{name}/{rest}")
            return Reply(200, found.content) if found else Reply(404, {"error": "Not found"})
        parts = name.split("/")
        length = 2 if name.startswith("@") else 1
        package, version = "/".join(parts[:length]), "/".join(parts[length:])
        modules = [each for each in self.modules if each.name == package]
        if version:
            manifests = [each.manifest(self.address) for each in modules if each.version == version]
            return Reply(200, manifests[0]) if manifests else Reply(404, f"version not found: {version}")
        if not modules:
            return Reply(404, {"error": "Not found"})
        short = ABBREVIATED in request.headers.get("accept", "") and not self.old
        return Reply(200, self._document(package, modules, short=short))

    def _document(self, name: str, modules: list[Module], *, short: bool) -> dict[str, Json]:
        final = [each.version for each in modules if "-" not in each.version]
        tags: dict[str, Json] = {"latest": final[-1]}
        tags.update(("next", each.version) for each in modules if "-" in each.version)
        manifests = {each.version: each.manifest(self.address) for each in modules}
        if short:
            versions: Json = {
                version: {key: value for key, value in manifest.items() if key in _SHORT}
                for version, manifest in manifests.items()
            }
            return {"name": name, "dist-tags": tags, "versions": versions, "modified": "2026-05-06T07:08:09.000Z"}
        times: Json = {each.version: each.released for each in modules}
        return {"_id": name, "name": name, "dist-tags": tags, "versions": dict(manifests), "time": times}
