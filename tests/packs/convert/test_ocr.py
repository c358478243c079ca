"""Words in pictures, read by the person's OCR where there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from ot.errors import ToolError
from ot_packs.convert import ocr
from ot_packs.convert.markdown import to_markdown
from tests.availability import require_program
from tests.opened_executor import Opened, open_executor
from tests.packs.answers import value_from
from tests.packs.convert.pdfs import make_pdf, prose

pytestmark = pytest.mark.anyio

OF_A_PAGE = "This page is a picture without text: convert.images(..., pages=1, render=True) shows it."


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    pages = [written(f"Chapter {word}") for word in ("one", "two", "three")]
    pages[0].save(folder / "scan.pdf", save_all=True, append_images=pages[1:], resolution=300)
    pages[0].save(folder / "scan.png")
    Image.new("L", (300, 100), 255).save(folder / "blank.pdf", resolution=300)
    (folder / "text.pdf").write_bytes(make_pdf([prose(3)]))
    return folder


def written(words: str) -> Image.Image:
    """A scrap of paper with words on it, scanned at 300 dpi."""
    picture = Image.new("L", (600, 160), 255)
    ImageDraw.Draw(picture).text((60, 50), words, font=ImageFont.load_default(size=48), fill=0)
    return picture


@pytest.fixture(scope="module")
async def opened(project: Path) -> AsyncIterator[Opened]:
    async with open_executor(project=project) as opened:
        yield opened


async def convert(opened: Opened, path: str, **options: Any) -> Any:
    return await value_from(opened.executor, "convert.auto", {"path": path, **options})


@pytest.fixture
def tesseract() -> Path:
    return require_program("tesseract")


@pytest.mark.usefixtures("tesseract")
async def test_words_of_scanned_pages_are_read_and_said_to_be(opened: Opened, project: Path) -> None:
    said = f"({OF_A_PAGE})\n\n(Words read by OCR, which may be wrong:)\n\nChapter one\n\n<!-- page 2 -->"

    found = await convert(opened, "scan.pdf", output="scan.md")

    text = (project / "scan.md").read_text()
    assert (found["read"], found["more"], found["text"], found["characters"]) == (3, False, "", len(text) - 1)
    assert said in text
    assert text.endswith("Chapter three\n")


@pytest.mark.usefixtures("tesseract")
async def test_words_of_a_picture_stand_below_what_it_says_of_itself(opened: Opened) -> None:
    text = (await convert(opened, "scan.png"))["text"]

    assert text.startswith("| property | value |")
    assert text.endswith("| mode | L |\n\n(Words read by OCR, which may be wrong:)\n\nChapter one")


@pytest.mark.usefixtures("tesseract")
async def test_a_picture_without_words_says_so(opened: Opened) -> None:
    text = (await convert(opened, "blank.pdf"))["text"]

    assert text.endswith(f"({OF_A_PAGE})\n\n(OCR finds no words in it.)")


@pytest.mark.usefixtures("tesseract")
async def test_an_answer_ends_before_the_first_picture_that_was_not_read(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "MOST_PICTURES", 2)

    first = await convert(opened, "scan.pdf")
    second = await convert(opened, "scan.pdf", offset=first["read"])

    assert (first["read"], first["total"], first["more"]) == (2, 3, True)
    assert first["text"].endswith("Chapter two")
    assert (second["read"], second["more"]) == (1, False)
    assert second["text"].endswith("Chapter three")


async def test_without_the_program_a_picture_says_what_to_install(
    opened: Opened, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project))

    scanned = await convert(opened, "scan.pdf")
    plain = await convert(opened, "text.pdf")

    assert (scanned["read"], scanned["more"]) == (3, False)
    assert f"({OF_A_PAGE})\n\n(Its words can be read by OCR: install `tesseract`" in scanned["text"]
    assert "OCR" not in plain["text"]


async def test_ocr_reads_no_files_and_its_failure_is_told_at_its_page(
    opened: Opened, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tesseract"
    program.write_text(f"#!/bin/sh\n/bin/cat '{project}/text.pdf' 2>/dev/null && exit\necho no language >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    found = await convert(opened, "scan.pdf")

    assert (found["read"], found["more"]) == (3, False)
    assert found["text"].count("(OCR cannot read it: tesseract says: no language)") == 3


async def test_its_languages_are_names(project: Path) -> None:
    async with open_executor(project=project, config={"packs": {"convert": {"ocr": "-x"}}}) as opened:
        with pytest.raises(ToolError, match=r"packs.convert.ocr is not a list of languages like deu\+eng"):
            await convert(opened, "scan.pdf")


def test_pictures_that_there_was_no_time_for_begin_the_next_answer(project: Path) -> None:
    none = to_markdown(path=str(project / "scan.pdf"), words=[], note="(late)")
    one = to_markdown(path=str(project / "scan.pdf"), words=["Chapter one"], note="(late)")

    assert (none["read"], none["more"]) == (one["read"], one["more"]) == (1, True)
    assert none["text"].endswith(f"({OF_A_PAGE})\n\n(late)")
    assert one["text"].endswith(f"({OF_A_PAGE})\n\nChapter one")
