"""A project and a home folder in which configuration files are written and then loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from ot.config import LoadedConfig, load_config
from ot.errors import ConfigError
from tests.trusting import trust_project


class Workspace:
    """`project` and `home` lie beside each other; neither has a `.onetool` folder until something is written there."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = root / "home"
        self.project.mkdir()
        self.home.mkdir()

    def write(self, text: str | bytes, name: str = "onetool.yaml") -> Path:
        """A file in the project's `.onetool` folder; `../x` is beside it."""
        return _write(self.project / ".onetool" / name, text)

    def write_home(self, text: str | bytes, name: str = "onetool.yaml") -> Path:
        """A file in the person's `.onetool` folder."""
        return _write(self.home / ".onetool" / name, text)

    def load(
        self,
        explicit: Path | None = None,
        *,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        trusted: bool = True,
        **variables: str,
    ) -> LoadedConfig:
        """What `load_config` gives in the project, which the person has trusted, with these variables and no others."""
        if trusted:
            trust_project(self.project, self.home)
        return load_config(explicit, environ=environ or variables, cwd=cwd or self.project, home=self.home)

    def mistake(
        self, explicit: Path | None = None, *, environ: Mapping[str, str] | None = None, **variables: str
    ) -> ConfigError:
        """The error that loading raises: facts that fit on one line, with a way out."""
        with pytest.raises(ConfigError) as caught:
            self.load(explicit, environ=environ or variables)
        error = caught.value
        assert error.fix
        assert (f"{error.file} {error.key} {error.reason} {error.fix}").isprintable()
        return error


def _write(file: Path, text: str | bytes) -> Path:
    file = Path(os.path.normpath(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    file.chmod(0o600)
    return file
