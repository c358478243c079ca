"""The page about extensions is true: its commands are run in an empty folder, and say what it shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import ot_sdk
from ot.registry.from_source import read_pack
from ot.workers.header_options import read_placement
from ot.workers.pep723 import parse_header
from tests.availability import uv_surroundings
from tests.page_shell import shell_environment, write_programs

PAGE = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_line_from_the_empty_folder_on_works(tmp_path: Path) -> None:
    here, expected = tmp_path / "empty", ""
    here.mkdir()
    programs = write_programs(tmp_path / "programs")
    said: list[str] = []
    for language, text in BLOCKS:
        match language:
            case "python":
                name, _, content = text.removeprefix("# ").partition("\n")
                assert (here / name).exists(), "the page replaces what was written before"
                (here / name).write_text(content)
            case "sh":
                said.append(_run(text, here, shell_environment(tmp_path, programs)))
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


def _run(commands: str, folder: Path, environ: Mapping[str, str]) -> str:
    """What a person sees who types these lines; uv keeps its cache, as that person's would."""
    done = subprocess.run(
        ["bash", "-eu", "-c", commands],
        cwd=folder,
        env={**uv_surroundings(), **environ},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
