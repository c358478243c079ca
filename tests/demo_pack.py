"""The pack `demo`, which has a tool for everything that a test wants to see, and which people do not have."""

from __future__ import annotations

from pathlib import Path

from tests.engines import on_wasm

_FILE = Path(__file__).parent / "programs" / "demo_pack.yaml"
_ENGINE = Path(__file__).parent / "programs" / "wasm_engine.yaml"


def with_demo(config: str = "") -> str:
    """The text of a configuration file, and the pack switched on besides; code runs on the engine of these tests."""
    files = f'["{_FILE}", "{_ENGINE}"]' if on_wasm() else f'["{_FILE}"]'
    if config.startswith("{"):
        return f'{{"include": {files}, {config[1:]}'
    return f"include: {files}\n{config}"


def give_demo(home: Path, config: str = "") -> Path:
    """Write the configuration of a person who has switched the pack on; gives their home."""
    (home / ".onetool").mkdir(parents=True, exist_ok=True)
    (home / ".onetool" / "onetool.yaml").write_text(with_demo(config))
    return home
