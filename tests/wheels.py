"""Packages that a test makes, in a folder that uv takes for an index."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread


def write_wheel(folder: Path, version: str, *, name: str = "thing", needs: str = "", program: str = "") -> None:
    """A package whose `VERSION` is its own, and with it a program of the same name that prints a line, if one is given."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    # A folder, not a file: uv then removes its bytecode too, which would pass for that of another version
    # that was installed within the same second.
    files = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": metadata + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if program:
        files[f"{name}-{version}.data/scripts/{name}"] = f"#!/bin/sh\necho '{program}'\n"
    (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(zipped({**files, f"{info}/RECORD": ""}))


def zipped(files: Mapping[str, str]) -> bytes:
    """The same archive for the same files, whenever it is made: a package that changes its hash is refused."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # of 1980, where a bare name would get the time of day
    return buffer.getvalue()


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder, quietly, once the server's gate is open."""

    def do_GET(self) -> None:
        assert isinstance(self.server, _Index)
        self.server.asked.append(self.path)
        self.server.gate.wait()
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that is overridden
        pass


class _Index(ThreadingHTTPServer):
    gate: Event
    asked: list[str]


@contextmanager
def serve_index(
    folder: Path, *, names: Sequence[str] = ("thing",), gate: Event | None = None, asked: list[str] | None = None
) -> Iterator[str]:
    """An index over HTTP with the wheels of a folder as they are now, whose pages give their hashes.

    `names` are those of its packages. Answers wait until somebody opens the `gate`; `asked` gets their paths.
    """
    for name in names:
        page = folder / name / "index.html"
        page.parent.mkdir()
        wheels = folder.glob(f"{name.replace('-', '_')}-*.whl")
        links = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
        page.write_text("".join(f'<a href="../{file}#sha256={digest}">{file}</a>' for file, digest in links.items()))
    with _Index(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        server.gate, server.asked = gate or Event(), [] if asked is None else asked
        if gate is None:
            server.gate.set()
        Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.gate.set()
            server.shutdown()
