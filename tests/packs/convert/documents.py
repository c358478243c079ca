"""Documents for tests: small ones of every kind, written by hand or by another library than the one that reads them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.packs.excel.workbooks import png

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ROOT = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATED}/officeDocument" Target="word/document.xml"/></Relationships>'
)
BODY = (
    '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Report</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>Plain and </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r></w:p>"
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>name</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>price</w:t></w:r></w:p></w:tc></w:tr>"
    "<w:tr><w:tc><w:p><w:r><w:t>apple</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>1.20</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
)


def make_docx(path: Path, *, body: str = BODY, prolog: str = "", parts: Mapping[str, bytes] | None = None) -> Path:
    """A Word document with a heading, a paragraph and a table; `parts` are further members, or others in their place."""
    styles = f'<w:styles {_W}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>'
    related = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATED}/styles" Target="styles.xml"/></Relationships>'
    )
    members = {
        "[Content_Types].xml": _TYPES.encode(),
        "_rels/.rels": _ROOT.encode(),
        "word/document.xml": (
            f'<?xml version="1.0" encoding="UTF-8"?>{prolog}<w:document {_W} xmlns:r="{_RELATED}" '
            'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
            f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><w:body>{body}</w:body></w:document>'
        ).encode(),
        "word/styles.xml": styles.encode(),
        "word/_rels/document.xml.rels": related.encode(),
        "word/media/image1.png": png(),
        **(parts or {}),
    }
    return make_zip(path, members)


def make_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    """A zip file of the given members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def make_pptx(path: Path, slides: int = 2) -> Path:
    """A presentation with bullets and notes, and on its first slide a table and a chart."""
    presentation = Presentation()
    for number in range(1, slides + 1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Title {number}"
        frame = slide.placeholders[1].text_frame
        frame.text = "first"
        second = frame.add_paragraph()
        second.text, second.level = "second", 1
        slide.notes_slide.notes_text_frame.text = f"spoken {number}"
        if number == 1:
            table = slide.shapes.add_table(2, 2, Inches(1), Inches(4), Inches(4), Inches(1)).table
            for row, values in enumerate([["name", "price"], ["apple", "1.20"]]):
                for column, value in enumerate(values):
                    table.cell(row, column).text = value
            data = CategoryChartData()
            data.categories = ["Jan", "Feb"]
            data.add_series("Sales", (120, 150))
            slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(5), Inches(4), Inches(3), Inches(2), data)
    presentation.save(str(path))
    return path


def make_epub(path: Path, chapters: int = 2, *, package: str = "") -> Path:
    """An e-book of short chapters, and a picture."""
    items = "".join(
        f'<item id="c{n}" href="text/chapter%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(1, chapters + 1)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(1, chapters + 1))
    opf = package or (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>The Book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {
        f"OEBPS/text/chapter {n}.xhtml": f"<!DOCTYPE html><html><body><h1>Chapter {n}</h1><p>Once&nbsp;upon</p></body></html>".encode()
        for n in range(1, chapters + 1)
    }
    return make_zip(
        path,
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "OEBPS/book.opf": opf.encode(),
            "OEBPS/cover.png": png(),
            **pages,
        },
    )
