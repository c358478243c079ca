"""Documents made to harm whoever opens them: every call ends with a sentence, and the server goes on."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ot.errors import CallError, PathError, ToolError
from tests.confine.pages import pages
from tests.opened_executor import Opened, open_executor
from tests.packs.answers import value_from
from tests.packs.convert.documents import BODY, make_docx, make_epub, make_pptx, make_zip
from tests.packs.convert.pdfs import Text, make_pdf, prose, stream_of, write_pdf
from tests.packs.excel.workbooks import changed, make, png, unfolding

pytestmark = pytest.mark.anyio

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
async def opened(project: Path) -> AsyncIterator[Opened]:
    async with open_executor(project=project) as opened:
        yield opened


def deflated(megabytes: int) -> bytes:
    """Deflated spaces, made without unfolding them: the same packed megabyte again and again."""
    packer = zlib.compressobj(9)
    start = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + again * (megabytes - 1) + packer.flush()


def pdf_with_a_bomb(path: Path) -> None:
    original = stream_of(b"", packed=deflated(3000))
    path.write_bytes(write_pdf([b""], objects=[original]).replace(b"/Contents 20001 0 R", b"/Contents 10000 0 R"))


def pdf_with_a_bomb_in_a_bomb(path: Path) -> None:
    original = stream_of(b"", packed=zlib.compress(deflated(3000)), filters=b"/Filter [/FlateDecode /FlateDecode]")
    path.write_bytes(write_pdf([b""], objects=[original]).replace(b"/Contents 20001 0 R", b"/Contents 10000 0 R"))


def pdf_of_a_huge_picture(path: Path) -> None:
    image = stream_of(
        b"",
        packed=deflated(2600),
        extra=b"/Type /XObject /Subtype /Image /Width 30000 /Height 30000 /ColorSpace /DeviceRGB /BitsPerComponent 8",
    )
    path.write_bytes(
        write_pdf([b"q 100 0 0 100 72 600 cm /I Do Q"], resources=b"/XObject << /I 10000 0 R >>", objects=[image])
    )


def docx_of_entities(path: Path) -> None:
    make_docx(path, prolog=BOMB, body="<w:p><w:r><w:t>&l11;</w:t></w:r></w:p>")


def docx_with_an_external_entity(path: Path) -> None:
    secret = path.with_name("secret.txt")
    secret.write_text("the secret")
    prolog = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    make_docx(path, prolog=prolog, body="<w:p><w:r><w:t>&e;</w:t></w:r></w:p>")


def docx_of_entities_in_its_styles(path: Path) -> None:
    make_docx(path, parts={"word/styles.xml": f"{BOMB}<w:styles>&l11;</w:styles>".encode()})


def docx_that_unfolds(path: Path) -> None:
    path.write_bytes(unfolding("word/document.xml"))


def docx_that_is_deep(path: Path) -> None:
    make_docx(path, body="<w:sdt><w:sdtContent>" * 20_000 + "</w:sdtContent></w:sdt>" * 20_000)


def pptx_of_entities(path: Path) -> None:
    good = make_pptx(path.with_name("good.pptx"))
    start = b"<p:presentation"
    changed(
        good,
        path,
        lambda name, data: data.replace(start, BOMB.encode() + start) if name == "ppt/presentation.xml" else data,
    )


def epub_of_entities(path: Path) -> None:
    make_epub(path, package=f"{BOMB}<package>&l11;</package>")


def epub_that_reads_elsewhere(path: Path) -> None:
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="../../../../etc/passwd" '
        'media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    make_epub(path, package=package)


def locked_pdf(path: Path) -> None:
    key = b"<< /Filter /Standard /V 1 /R 2 /O <%b> /U <%b> /P -4 >>" % (b"41" * 32, b"42" * 32)
    path.write_bytes(make_pdf([prose(3)], trailer=b"/Encrypt %b /ID [<41> <41>]" % key))


def locked_office(path: Path) -> None:
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000) + "EncryptedPackage".encode("utf-16-le") + bytes(500)
    )


def noise_for_a_pdf(path: Path) -> None:
    path.write_bytes(b"%PDF-1.7\n" + random.Random(1).randbytes(20_000))


def csv_of_one_field(path: Path) -> None:
    path.with_suffix(".csv").write_bytes(b'a,b\n"' + b"x" * 3_000_000)


def picture_cut_off(path: Path) -> None:
    path.write_bytes(png()[:20])


def zips_in_zips(path: Path) -> None:
    make_zip(path, {"inner.zip": make_zip(path.with_name("inner.zip"), {"a": bytes(1 << 20)}).read_bytes()})


HOSTILE: dict[Callable[[Path], None], str] = {
    pdf_with_a_bomb: "memory|is damaged",
    pdf_with_a_bomb_in_a_bomb: "memory|is damaged",
    docx_of_entities: "declares a document type or an entity",
    docx_with_an_external_entity: "declares a document type or an entity",
    docx_of_entities_in_its_styles: "declares a document type or an entity",
    docx_that_unfolds: "would unpack to more than 512 MB",
    docx_that_is_deep: "nested too deeply|is damaged",
    pptx_of_entities: "declares a document type or an entity",
    epub_of_entities: "declares a document type or an entity",
    epub_that_reads_elsewhere: "is damaged",
    locked_pdf: "protected by a password",
    locked_office: "protected by a password",
    noise_for_a_pdf: "is damaged",
    csv_of_one_field: "line 2: field larger than",
    picture_cut_off: "is damaged",
    zips_in_zips: "is a zip file: unpack it",
}


@pytest.mark.parametrize("harm", HOSTILE, ids=lambda harm: harm.__name__)
async def test_a_hostile_document_is_refused_with_a_sentence(
    opened: Opened, project: Path, harm: Callable[[Path], None]
) -> None:
    bad = project / harm.__name__
    harm(bad)

    with pytest.raises(CallError, match=HOSTILE[harm]):
        await value_from(opened.executor, "convert.auto", {"path": bad.name if bad.exists() else f"{bad.name}.csv"})


async def test_the_server_goes_on_after_all_of_it(opened: Opened, project: Path) -> None:
    (project / "good.pdf").write_bytes(make_pdf([[Text(72, 700, "still here")]]))

    assert "still here" in (await value_from(opened.executor, "convert.auto", {"path": "good.pdf"}))["text"]


async def test_a_huge_picture_in_a_pdf_is_not_unfolded(opened: Opened, project: Path) -> None:
    pdf_of_a_huge_picture(project / "huge.pdf")

    assert (await value_from(opened.executor, "convert.auto", {"path": "huge.pdf"}))["total"] == 1
    with pytest.raises(ToolError, match="30000 by 30000 pixels large, which is refused"):
        await value_from(opened.executor, "convert.images", {"path": "huge.pdf"})


async def test_a_page_of_any_size_is_drawn_small(opened: Opened, project: Path) -> None:
    wide = make_pdf([prose(3)]).replace(b"/MediaBox [0 0 595 842]", b"/MediaBox [0 0 9999999 99]")
    (project / "wide.pdf").write_bytes(wide)

    found = await value_from(opened.executor, "convert.images", {"path": "wide.pdf", "render": True})

    width, height = struct.unpack(">II", found["images"][0]["image"].data[16:24])
    assert width <= 1601
    assert height <= 1601


async def test_ten_thousand_pages_are_bounded_by_what_is_asked_for(opened: Opened, project: Path) -> None:
    (project / "long.pdf").write_bytes(write_pdf([b"BT /F1 10 Tf 72 700 Td (page) Tj ET"] * 10_000, compress=False))

    found = await value_from(opened.executor, "convert.auto", {"path": "long.pdf"})
    last = await value_from(opened.executor, "convert.auto", {"path": "long.pdf", "pages": "9999-"})

    assert (found["total"], found["read"], found["more"]) == (10_000, 200, True)
    assert (last["read"], last["more"]) == (2, False)


async def test_a_picture_may_say_that_it_is_huge(opened: Opened, project: Path) -> None:
    header = struct.pack(">IIBBBBB", 1_000_000, 1_000_000, 8, 2, 0, 0, 0)
    data = png()
    (project / "huge.png").write_bytes(data[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + data[33:])

    assert "| width | 1000000 |" in (await value_from(opened.executor, "convert.auto", {"path": "huge.png"}))["text"]


async def test_pictures_that_lie_elsewhere_are_neither_read_nor_fetched(opened: Opened, project: Path) -> None:
    (project / "elsewhere.png").write_bytes(png())
    with pages() as port:
        for target in ((project / "elsewhere.png").as_uri(), f"http://127.0.0.1:{port}/x.png"):
            related = (
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId9" '
                'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
                f'Target="{target}" TargetMode="External"/></Relationships>'
            )
            picture = (
                '<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="x" descr="outside"/><a:graphic><a:graphicData>'
                '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
                '<a:blip r:link="rId9"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>'
            )
            make_docx(
                project / "linked.docx", body=picture + BODY, parts={"word/_rels/document.xml.rels": related.encode()}
            )

            found = await value_from(opened.executor, "convert.auto", {"path": "linked.docx"})

            assert found["text"].startswith("![outside]")
            assert [
                each["name"]
                for each in (await value_from(opened.executor, "convert.images", {"path": "linked.docx"}))["images"]
            ] == ["image1.png"]


@pytest.mark.parametrize("kind", ["pdf", "docx", "pptx", "epub", "xlsx"])
async def test_damage_anywhere_ends_with_a_sentence(opened: Opened, project: Path, kind: str) -> None:
    good = project / f"whole.{kind}"
    match kind:
        case "pdf":
            good.write_bytes(make_pdf([prose(3)] * 2))
        case "docx":
            make_docx(good)
        case "pptx":
            make_pptx(good)
        case "epub":
            make_epub(good)
        case _:
            make(good)
    data = good.read_bytes()
    chance = random.Random(2)
    for share in (0.1, 0.5, 0.9, 1.0):
        broken = bytearray(data[: int(len(data) * share)])
        for _ in range(20):
            broken[chance.randrange(8, len(broken))] = chance.randrange(256)
        (project / f"broken.{kind}").write_bytes(broken)
        for tool in ("auto", "tables", "images"):
            with suppress(ToolError):  # not every damage is to something that is needed
                await value_from(opened.executor, f"convert.{tool}", {"path": f"broken.{kind}"})


async def test_files_outside_of_the_project_are_out_of_reach(opened: Opened, project: Path, tmp_path: Path) -> None:
    (tmp_path / "other.pdf").write_bytes(make_pdf([prose(3)]))
    (project / "good.pdf").write_bytes(make_pdf([prose(3)]))

    for tool in ("auto", "tables", "images"):
        with pytest.raises(PathError):
            await value_from(opened.executor, f"convert.{tool}", {"path": str(tmp_path / "other.pdf")})
    with pytest.raises(PathError):
        await value_from(opened.executor, "convert.auto", {"path": "good.pdf", "output": str(tmp_path / "out.md")})
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize("name", ["letter.docx", "letter.html", "letter.xlsx", "letter"])
async def test_the_name_of_a_file_does_not_matter(opened: Opened, project: Path, name: str) -> None:
    (project / name).write_bytes(make_pdf([[Text(72, 700, "really a PDF")]]))

    found = await value_from(opened.executor, "convert.auto", {"path": name})

    assert (found["format"], "really a PDF" in found["text"]) == ("pdf", True)
