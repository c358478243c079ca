"""The page about extensions is true: its commands are run in an empty folder, and say what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import ot_sdk
from ot.registry.from_source import read_pack
from ot.workers.pep723 import parse_header
from ot.workers.placement import read_placement
from tests.availability import uv_surroundings
from tests.measured import MEASURED

PAGE = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCRIPTS = Path(sys.executable).parent


def test_every_line_from_the_empty_folder_on_works(tmp_path: Path) -> None:
    here, expected = tmp_path / "empty", ""
    here.mkdir()
    said: list[str] = []
    for language, text in BLOCKS:
        match language:
            case "python":
                name, _, content = text.removeprefix("# ").partition("\n")
                assert (here / name).exists(), "the page replaces what was written before"
                (here / name).write_text(content)
            case "sh":
                said.append(_run(text, here, home=tmp_path))
            case _:
                expected += text

    assert "".join(said) == expected


def test_no_kind_of_block_is_left_out() -> None:
    assert (
        " ".join(language for language, _ in BLOCKS) == "sh text python sh text sh text python sh text sh text sh text"
    )
    assert PAGE.count("```") == 2 * len(BLOCKS)


def test_the_table_names_what_the_kit_has() -> None:
    named = set(re.findall(r"^\| `ot_sdk\.(\w+)", PAGE, re.MULTILINE))

    assert named == set(ot_sdk.__all__) - {"serve", "CallCancelled"}


def test_the_pack_of_the_page_is_documented_whole(tmp_path: Path) -> None:
    source = next(text for language, text in BLOCKS if language == "python")
    (tmp_path / "versions_tools.py").write_text(source)

    [tool] = read_pack(tmp_path / "versions_tools.py").tools.values()

    assert tool.docs.example == 'versions.newest(versions=["1.9", "1.10"])'
    assert tool.docs.arguments
    assert tool.docs.returns


def test_the_header_for_a_cluster_asks_for_what_the_page_says() -> None:
    section = PAGE.partition("## On a Ray cluster")[2]
    header, _ = parse_header("".join(f"{line}\n" for line in re.findall(r"^    (#.*)$", section, re.MULTILINE)))

    placement = read_placement(header)

    assert (placement.engine, placement.cpus, placement.gpus) == ("ray", 4, 1)
    assert (placement.memory, placement.resources) == (8 * 1024**3, {"fast_disk": 1})


def _run(commands: str, folder: Path, *, home: Path) -> str:
    """What a person sees who types these lines; uv keeps its cache, as that person's would."""
    path = os.pathsep.join([str(SCRIPTS), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-eu", "-c", commands],
        cwd=folder,
        env={**uv_surroundings(), "HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **MEASURED},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
