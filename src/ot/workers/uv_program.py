"""The program uv, asked for packages: from its cache, and only if that is not enough from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ot.processes.run_program import Finished, run_program
from ot.workers.extension import WorkerHost, uv_environment
from ot_sdk.protocol import Lines

Tell = Callable[[str], None]  # takes a line about progress, for those who wait


class PreparationError(Exception):
    """No environment can be made for an extension or a pack; the text says why."""


class UvProgram:
    """Runs uv; `doing` begins the progress messages once something has to be fetched."""

    def __init__(self, host: WorkerHost, tell: Tell, *, doing: str, environ: Mapping[str, str] | None = None) -> None:
        self.offline = True  # until the cache was not enough
        self._host = host
        self._tell = tell
        self._doing = doing
        self._environ = {**uv_environment(host.environ), **(environ or {})}

    async def ask(self, words: Sequence[str], *, wanted: Sequence[str]) -> Finished:
        """Run uv on its cache and, if that is not enough, with the network; `wanted` is what it gets."""
        if self.offline:
            done = await self.run([*words, "--offline"])
            if done.status == 0:
                return done
            self.offline = False
            self._tell(f"{self._doing} ({', '.join(wanted) or 'none'})")
        return await self.run(words, lambda line: self._tell(f"{self._doing}: {line}"))

    async def run(self, words: Sequence[str], tell: Tell = lambda _: None) -> Finished:
        """Run uv once; it says things word by word, and is quoted line by line."""
        lines = Lines()

        def on_stderr(data: bytes) -> None:
            for line in filter(None, map(bytes.strip, lines.feed(data))):
                tell(line.decode(errors="replace"))

        command = [str(required_uv(self._host)), *words, "--color", "never", "--no-progress"]
        return await run_program(command, environ=self._environ, cwd=self._host.home, on_stderr=on_stderr)


def required_uv(host: WorkerHost) -> Path:
    """Return uv; raises PreparationError if there is none."""
    found = host.find_uv(host.environ)
    if found is None:
        raise PreparationError(
            "it declares dependencies, and uv, which installs them, was not found. "
            "Install uv (https://docs.astral.sh/uv/), or put it beside OneTool with `pip install uv`"
        )
    return found
