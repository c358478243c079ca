"""An index of Python packages, played from the specification of the simple API (PEP 503, 592, 658, 691, 700)."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_core.json_types import Json
from tests.services.played import PlayedService, Reply, Request
from tests.wheels import zipped

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A release of a package."""

    name: str
    version: str
    needs: tuple[str, ...] = ()
    python: str = ">=3.9"
    yanked: str | None = None
    released: str = "2026-01-02T03:04:05.000000Z"
    files: Mapping[str, str] = field(default_factory=dict)
    programs: str = ""  # its console scripts, a line each

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}-py3-none-any.whl"

    @property
    def metadata(self) -> str:
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name}",
            f"Version: {self.version}",
            "Summary: What the tests install",
            "License-Expression: MIT",
            f"Requires-Python: {self.python}",
            f"Project-URL: Changelog, https://code.example/{self.name}/changes",
            f"Project-URL: Source, https://code.example/{self.name}",
            "Provides-Extra: http2",
            *(f"Requires-Dist: {need}" for need in self.needs),
        ]
        return "\n".join(lines) + "\n"

    @property
    def content(self) -> bytes:
        info = f"{self.name}-{self.version}.dist-info"
        return zipped(
            {
                f"{self.name}/__init__.py": "",
                f"{info}/METADATA": self.metadata,
                f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                **({f"{info}/entry_points.txt": f"[console_scripts]\n{self.programs}\n"} if self.programs else {}),
                **self.files,
                f"{info}/RECORD": "",
            }
        )


WHEELS = (
    Wheel("httpx", "0.27.0", ("certifi", "idna>=2", "sniffio", 'h2<5,>=3; extra == "http2"'), python=">=3.8"),
    Wheel("httpx", "0.27.2", ("certifi", "idna>=2", "sniffio"), yanked="broken timeouts"),
    Wheel(
        "httpx",
        "0.28.1",
        ("certifi", "idna>=3", "anyio", 'h2<6,>=3; extra == "http2"'),
        released="2026-03-01T00:00:00Z",
    ),
    Wheel("httpx", "1.0.dev3", ("certifi",), python=">=3.12"),
    Wheel("pydantic", "2.10.1"),
    Wheel("pydantic", "2.12.0"),
    Wheel("certifi", "2026.1.1"),
    Wheel("idna", "3.10"),
    Wheel("anyio", "4.9.0"),
    Wheel("inner_tool", "1.0.0"),
)


class PlayedPypi(PlayedService):
    """Answers in JSON, or, if it is an `old` one, in HTML; with a `token`, only to those who have it."""

    def __init__(self, wheels: tuple[Wheel, ...] = WHEELS, *, old: bool = False, token: str = "") -> None:
        super().__init__()
        self.wheels = wheels
        self.old = old
        self.token = token  # of HTTP's basic scheme

    @property
    def index(self) -> str:
        return f"{self.address}/simple"

    def answer(self, request: Request) -> Reply:
        if self.token and request.headers.get("authorization") != f"Basic {self.token}":
            return Reply(401, {"message": "who are you?"}, {"www-authenticate": "Basic"})
        kind, _, name = request.path.strip("/").partition("/")
        if kind == "files":
            return self._file(name)
        found = [wheel for wheel in self.wheels if wheel.name.replace("_", "-") == name]
        if kind != "simple" or not found:
            return Reply(404, "404 Not Found")
        return (
            self._page(found) if self.old or JSON not in request.headers.get("accept", "") else self._json(name, found)
        )

    def _file(self, name: str) -> Reply:
        for wheel in self.wheels:
            if name == wheel.file:
                return Reply(200, wheel.content, {"content-type": "application/octet-stream"})
            if name == f"{wheel.file}.metadata":
                return Reply(200, wheel.metadata)
        return Reply(404, "404 Not Found")

    def _json(self, name: str, wheels: list[Wheel]) -> Reply:
        files: list[Json] = [
            {
                "filename": wheel.file,
                "url": f"../../files/{wheel.file}",
                "hashes": {"sha256": hashlib.sha256(wheel.content).hexdigest()},
                "requires-python": wheel.python,
                "yanked": wheel.yanked or False,
                "upload-time": wheel.released,
                "core-metadata": wheel.file.endswith(".whl")
                and {"sha256": hashlib.sha256(wheel.metadata.encode()).hexdigest()},
                "size": len(wheel.content),
            }
            for wheel in wheels
        ]
        versions: list[Json] = [*sorted({wheel.version for wheel in wheels})]
        value: Json = {"meta": {"api-version": "1.1"}, "name": name, "versions": versions, "files": files}
        return Reply(200, value, {"content-type": JSON})

    def _page(self, wheels: list[Wheel]) -> Reply:
        lines = [
            f'<a href="../../files/{wheel.file}#sha256={hashlib.sha256(wheel.content).hexdigest()}"'
            f' data-requires-python="{html.escape(wheel.python)}"'
            + (f' data-yanked="{wheel.yanked}"' if wheel.yanked else "")
            + f">{wheel.file}</a><br/>"
            for wheel in wheels
        ]
        text = "<!DOCTYPE html><html><body>" + "\n".join(lines) + "</body></html>"
        return Reply(200, text, {"content-type": "text/html"})
