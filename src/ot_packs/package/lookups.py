"""Packages, one or those that a project uses, looked up in the registries that the person has configured."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple, Unpack
from urllib.parse import quote

import anyio
from anyio import to_thread

from mcp_core.nearest_names import likeness, nearest
from ot.context import current
from ot.errors import CallError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot_packs.locks import plain_name, read_project_file
from ot_packs.net.client import Answer
from ot_packs.package.asking import RegistryClient
from ot_packs.package.registries import Registry
from ot_packs.package.releases import About, Choice, Declared, Document, Index, Wanted
from ot_packs.package.settings import NpmRegistries, PythonIndexes, read_npm_registries, read_python_indexes

_IMPORTED_AS = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "crypto": "pycryptodome", "dateutil": "python-dateutil",
    "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "gitpython", "jose": "python-jose",
    "magic": "python-magic", "mysqldb": "mysqlclient", "openssl": "pyopenssl", "pil": "pillow", "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "usb": "pyusb", "win32api": "pywin32", "yaml": "pyyaml", "zmq": "pyzmq",
}  # fmt: skip
_WELL_KNOWN = {
    "pypi": (
        "aiohttp alembic anyio attrs beautifulsoup4 black boto3 celery certifi cffi click coverage cryptography cython "
        "django djangorestframework fastapi flask grpcio gunicorn httpx hypothesis jinja2 jsonschema lxml mako "
        "matplotlib mypy networkx numpy openai openpyxl orjson packaging pandas pillow pip playwright poetry polars "
        "protobuf psutil psycopg pyarrow pydantic pydantic-settings pyjwt pymongo pytest pytest-asyncio pytest-cov "
        "python-dateutil python-dotenv pyyaml redis requests rich ruff scikit-learn scipy seaborn selenium sentry-sdk "
        "setuptools six sqlalchemy starlette sympy tensorflow tomli torch tornado tqdm transformers typer "
        "typing-extensions urllib3 uv uvicorn virtualenv websockets werkzeug wheel"
    ),
    "npm": (
        "@angular/core @babel/core @types/node @types/react ajv angular async axios bluebird body-parser chalk "
        "commander cors cross-env date-fns debug dotenv electron esbuild eslint express fastify fs-extra glob graphql "
        "husky immer inquirer jest jquery jsdom jsonwebtoken lodash mocha moment mongoose next nodemon nodemailer "
        "playwright postcss prettier prisma puppeteer react react-dom react-router redux rimraf rollup rxjs sass "
        "semver sharp socket.io svelte tailwindcss ts-node tslib typescript uuid vite vitest vue webpack winston ws "
        "yargs zod"
    ),
}


_NPM_NAME = re.compile(r"(?:@[\w.~-]{1,100}/)?[A-Za-z0-9~_-][\w.~-]{0,213}", re.ASCII)
_SIMPLE = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_ABBREVIATED = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*"
_BESIDE = (
    "pyproject.toml", "uv.toml", "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", ".npmrc",
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
)  # fmt: skip
_MANIFESTS = ("pyproject.toml", "package.json", "requirements*.txt")


class Lookups:
    """The registries that the person's pip, uv and npm are configured with, asked for one call of a tool."""

    def __init__(self, client: RegistryClient, indexes: PythonIndexes, registries: NpmRegistries) -> None:
        self._client, self._indexes, self._registries = client, indexes, registries

    async def find_python(self, name: str, *, address: str = "", **wanted: Unpack[Wanted]) -> tuple[Registry, Index]:
        """Look up a package; `address` is where a project says that it comes from."""
        # A CallError: nobody has it, or it comes from where the person's own configuration does not lead.
        if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?", name):
            raise ToolError(f"{name[:100]!r} is not the name of a Python package")
        asked = self._indexes.asked
        if address:
            asked = (_configured(self._indexes.find(address), address, "settings of pip and uv"),)
        if not asked:
            raise ToolError("pip and uv are configured with local indexes only, which are not supported")
        for registry in asked:
            answer = await self._client.get(registry, f"{registry.url}/{plain_name(name)}/", accept=_SIMPLE)
            if answer is None:
                continue
            facts = {"body": _text(answer), "url": answer.url, "name": name}
            return registry, await self._client.read("read_index", Index, **facts, **wanted)
        raise _missing("pypi", name, [registry.url for registry in asked])

    async def about_python(self, registry: Registry, index: Index, version: str) -> About | None:
        """Read what a release says of itself; None if the index does not offer it apart from the files."""
        address = index["metadata"].get(version)
        answer = await self._client.get(registry, address) if address else None
        return await self._client.read("read_about", About, text=_text(answer)) if answer else None

    async def find_npm(
        self, name: str, *, address: str = "", dates: bool = False, **wanted: Unpack[Wanted]
    ) -> tuple[Registry, Document]:
        """Look up a package, as `find_python` does. `dates` are in the whole document only, which can be large."""
        if not _NPM_NAME.fullmatch(name):
            raise ToolError(f"{name[:100]!r} is not the name of an npm package")
        found = self._registries.find(address) if address else self._registries.of_package(name)
        registry = _configured(found, address, "settings of npm")
        accept = "application/json" if dates else _ABBREVIATED
        answer = await self._client.get(registry, f"{registry.url}/{quote(name, safe='@')}", accept=accept)
        if answer is None:
            raise _missing("npm", name, [registry.url])
        return registry, await self._client.read("read_document", Document, body=_text(answer), **wanted)

    async def about_npm(self, registry: Registry, name: str, document: Document, version: str) -> About | None:
        """Return what a version says of itself; abbreviated documents leave it out."""
        about = document["about"].get(version)
        if about is not None and about["summary"]:
            return about
        answer = await self._client.get(registry, f"{registry.url}/{quote(name, safe='@')}/{quote(version, safe='')}")
        return await self._client.read("read_manifest", About, body=_text(answer)) if answer else about


async def build_lookups(client: RegistryClient, home: Path) -> Lookups:
    indexes = await to_thread.run_sync(read_python_indexes, home, os.environ)
    registries = await to_thread.run_sync(read_npm_registries, home, os.environ)
    return Lookups(client, indexes, registries)


def _configured(registry: Registry | None, address: str, program: str) -> Registry:
    if registry is None:
        raise ToolError(f"the project gets it from {address[:200]}, which was not asked: your {program} do not name it")
    return registry


def _missing(kind: str, name: str, asked: list[str]) -> ToolError:
    imported = _IMPORTED_AS.get(plain_name(name)) if kind == "pypi" else None
    near = [each for each in nearest(name, _WELL_KNOWN[kind].split())[:5] if likeness(name, each) >= 0.6]
    meant = list(dict.fromkeys([*([imported] if imported else []), *near]))[:3]
    hint = f" Did you mean {' or '.join(meant)}?" if meant else " Check the spelling."
    return ToolError(f"there is no package {name} at {', '.join(asked)}.{hint}")


def _text(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")


class Verdict(NamedTuple):
    """The registries' answer for a package that a project uses; `problem` says why there is none."""

    package: Declared
    found: Choice | None
    problem: str = ""

    @property
    def behind(self) -> bool:
        """True if there is something newer, or what the project has is withdrawn."""
        own = self.found["since"] if self.found else None
        return self.found is not None and (self.found["behind"] or (own is not None and own["withdrawn"] is not None))


def read_files(files: AllowedFiles, path: str) -> dict[str, str]:
    """Return the texts of a project's manifests and locks, by their names in its folder; blocking, raises PathError."""
    # `path` is the folder, or one of its manifests, which alone counts then.
    try:
        names = sorted(entry.name for entry in files.list(path))
        folder, manifests = path, [name for name in names if _is_manifest(name)]
    except PathError:
        files.locate(path)  # it is not there, or not for tools
        folder, name = str(PurePath(path).parent), PurePath(path).name
        if not _is_manifest(name):
            raise ToolError(f"{path} is not a pyproject.toml, requirements*.txt or package.json") from None
        names, manifests = [entry.name for entry in files.list(folder)], [name]
    wanted = [name for name in _BESIDE if name in names and not _is_manifest(name)] + manifests
    texts = {name: read_project_file(files, str(PurePath(folder) / name)) for name in wanted}
    if not manifests:
        raise ToolError(f"{path} has no pyproject.toml, no requirements*.txt and no package.json")
    return texts


def _is_manifest(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _MANIFESTS)


async def judge_all(lookups: Lookups, packages: Sequence[Declared], *, prereleases: bool) -> list[Verdict]:
    """Look up packages side by side; one that cannot be looked up does not stop the others."""
    verdicts: dict[int, Verdict] = {}
    turns = anyio.Semaphore(8)

    async def judge_one(index: int, package: Declared) -> None:
        async with turns:
            verdicts[index] = await _judge(lookups, package, prereleases=prereleases)
        await current().progress(len(verdicts), len(packages), package["name"])

    async with anyio.create_task_group() as tasks:
        for index, package in enumerate(packages):
            tasks.start_soon(judge_one, index, package)
    return [verdicts[index] for index in range(len(packages))]


async def _judge(lookups: Lookups, package: Declared, *, prereleases: bool) -> Verdict:
    if package["problem"]:
        return Verdict(package, None, package["problem"])
    find = lookups.find_npm if package["kind"] == "npm" else lookups.find_python
    name, address, asked, own = package["name"], package["registry"], package["asked"], package["current"]
    try:
        _, found = await find(name, address=address, version=asked, since=own, prereleases=prereleases, limit=0)
    except CallError as error:
        return Verdict(package, None, str(error))
    return Verdict(package, found)
