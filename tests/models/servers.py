"""Servers that stand in for model providers: one that answers as a test says, and a small real model."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.availability import report_missing, require_node

FOLDER = Path(__file__).parent
_PROGRAM = FOLDER / "node_modules/@copilotkit/aimock/dist/cli.js"
_PYTHON = FOLDER / ".venv/bin/python"
_REMEDY = "Run scripts/install-model-servers."


class ScriptedServer:
    """aimock: it speaks the APIs of Anthropic, Ollama and OpenAI, and says what it was told to say."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=f"{url}/__aimock", timeout=10)

    def reset(self) -> None:
        """Forget fixtures, faults and requests."""
        self._http.post("/reset").raise_for_status()
        self._http.delete("/chaos").raise_for_status()

    def answer(self, match: dict[str, Any], response: dict[str, Any], **options: Any) -> None:
        """Answer requests that match."""
        fixture = {"match": match, "response": response, **options}
        self._http.post("/fixtures", json={"fixtures": [fixture]}).raise_for_status()

    def fail_once(self, status: int, message: str = "not now") -> None:
        """Refuse the next request."""
        kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        body = {"message": message, "type": kind}
        self._http.post("/error", json={"status": status, "body": body}).raise_for_status()

    def misbehave(self, **rates: float) -> None:
        """Fail in a way of its own: malformedRate, disconnectRate, dropRate, rateLimitRate."""
        self._http.post("/chaos", json=rates).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        """Bodies of the requests so far, in aimock's neutral form."""
        entries: list[dict[str, Any]] = self._http.get("/journal").raise_for_status().json()
        return [entry["body"] for entry in entries]

    def close(self) -> None:
        self._http.close()


@contextmanager
def scripted_server(fixtures: Path) -> Iterator[ScriptedServer]:
    """aimock on a port of its own."""
    if not _PROGRAM.exists():
        report_missing("the server that stands in for model providers", remedy=_REMEDY)
    (fixtures / "none.json").write_text('{"fixtures": []}')
    command: list[Path | str] = [require_node(), _PROGRAM, "--port", "0", "--fixtures", fixtures, "--chunk-size", "7"]
    with _announced(command) as url:
        server = ScriptedServer(url)
        yield server
        server.close()


@contextmanager
def small_model_server() -> Iterator[str]:
    """SmolLM2-135M behind the APIs of Anthropic, Ollama and OpenAI; gives its address."""
    if not _PYTHON.exists():
        report_missing("the small model", remedy=_REMEDY)
    program = FOLDER.parent / "programs/small_model_server.py"
    with _announced([_PYTHON, program]) as url:
        yield url


@contextmanager
def _announced(command: Sequence[Path | str]) -> Iterator[str]:
    """A program that says on stdout at which address it listens; it ends with the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            for line in process.stdout:
                if found := re.search(r"listening on (http://\S+)", line):
                    yield found[1]
                    break
            else:
                raise RuntimeError("the server did not start")
        finally:
            process.kill()
