"""Documents of every kind as Markdown, with their tables and pictures."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image as Pillow

from ot.errors import ToolError
from ot_packs.convert.html import HtmlReader
from ot_packs.convert.markdown import to_markdown
from ot_packs.convert.parts import choose
from ot_tools import convert
from tests.packs.convert.documents import make_docx, make_epub, make_pptx, make_zip
from tests.packs.convert.pdfs import Text, filled_lines, lines, make_pdf, prose, stream_of, table, write_pdf
from tests.packs.excel.workbooks import make_of_everything, png

FRUIT = [["name", "price", "left"], ["apple", "1.20", "5"], ["pear", "2", ""], ["a long name here", "3.50", "17"]]


def text_of(path: Path, **options: Any) -> str:
    return to_markdown(path=str(path), **options)["text"]


def test_the_text_of_a_pdf_comes_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([prose(3), [Text(72, 700, "Zweite Seite: äöü €")]]))

    found = to_markdown(path=str(path))

    assert found["text"].startswith("<!-- page 1 -->\n\nLine 0 the quick")
    assert found["text"].endswith("<!-- page 2 -->\n\nZweite Seite: äöü €")
    assert (found["format"], found["unit"], found["total"], found["read"], found["more"]) == (
        "pdf",
        "page",
        2,
        2,
        False,
    )


def test_a_table_in_a_pdf_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    after = Text(72, 560, "Text below.")
    path.write_bytes(make_pdf([prose(3), [*prose(4), *table(FRUIT, top=650), after]]))

    text = text_of(path, pages=2)

    assert "| name | price | left |\n| --- | --- | --- |\n| apple | 1.20 | 5 |\n| pear | 2 |  |" in text
    assert text.index("Line 3") < text.index("| name") < text.index("Text below.")
    assert convert.tables(path=str(path))["tables"] == [{"page": 2, "name": "", "rows": FRUIT}]


RULED = (
    [Text(75, 640, "Quarter"), Text(175, 640, "Sales and returns"), Text(75, 620, "one"), Text(175, 620, "a long text that"),
     Text(175, 608, "is wrapped"), Text(295, 608, "12"), Text(75, 588, "two"), Text(175, 588, "short"), Text(295, 588, "7"),
     Text(295, 572, "8"), Text(420, 600, "Beside it.")],
    [(70, 652, 400, 652), (70, 634, 400, 634), (70, 602, 400, 602), (290, 582, 400, 582), (70, 566, 400, 566),
     (70, 566, 70, 652), (170, 566, 170, 652), (290, 566, 290, 634), (400, 566, 400, 652)],
)  # fmt: skip
ROWS = [
    ["Quarter", "Sales and returns", ""],
    ["one", "a long text that is wrapped", "12"],
    ["two", "short", "7"],
    ["", "", "8"],
]


@pytest.mark.parametrize("draw", [lines, filled_lines])
def test_a_table_with_lines_has_wrapped_and_spanned_cells(tmp_path: Path, draw: Callable[..., bytes]) -> None:
    texts, ends = RULED
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([[*prose(5), *texts, Text(72, 500, "Below.")]], extra=draw(*ends)))

    text = text_of(path)

    assert convert.tables(path=str(path))["tables"] == [{"page": 1, "name": "", "rows": ROWS}]
    assert "| one | a long text that is wrapped | 12 |" in text
    assert text.index("Line 4") < text.index("| Quarter") < text.index("Beside it.") < text.index("Below.")
    assert text.count("Quarter") == text.count("wrapped") == text.count("Beside") == 1


def test_lines_between_rows_alone_tell_what_is_wrapped(tmp_path: Path) -> None:
    texts = [
        *(Text(75, 700, "Item"), Text(200, 700, "What it is"), Text(400, 700, "Price")),
        *(
            Text(75, 680, "A1"),
            Text(200, 680, "a chair that is"),
            Text(400, 680, "12.50"),
            Text(200, 668, "made of oak"),
        ),
        *(
            Text(75, 648, "B2"),
            Text(200, 648, "a table of stone"),
            Text(400, 648, "99.00"),
            Text(200, 636, "from Wales"),
        ),
    ]
    ends = [(70, y, 450, y) for y in (714, 694, 662, 630)]
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([[*texts, Text(72, 600, "Below.")]], extra=lines(*ends)))

    assert [table["rows"] for table in convert.tables(path=str(path))["tables"]] == [
        [
            ["Item", "What it is", "Price"],
            ["A1", "a chair that is made of oak", "12.50"],
            ["B2", "a table of stone from Wales", "99.00"],
        ]
    ]
    assert text_of(path).endswith("| 99.00 |\n\nBelow.")


def test_lines_around_many_rows_leave_them_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    ends = [(70, y, 450, y) for y in (716, 695, 663, 640)]
    path.write_bytes(make_pdf([table(FRUIT, top=700)], extra=lines(*ends)))

    assert convert.tables(path=str(path))["tables"][0]["rows"] == FRUIT


def test_a_frame_and_the_lines_of_a_chart_are_no_table(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    frame = lines((50, 400, 500, 400), (50, 800, 500, 800), (50, 400, 50, 800), (500, 400, 500, 800))
    chart = lines(
        *[(100, 100 + 20 * n, 300, 100 + 20 * n) for n in range(9)],
        *[(100 + 40 * n, 100, 100 + 40 * n, 260) for n in range(6)],
    )
    path.write_bytes(make_pdf([[*prose(5), Text(110, 230, "peak")]], extra=frame + chart))

    assert convert.tables(path=str(path))["tables"] == []
    assert "peak" in text_of(path)


def test_larger_lines_of_a_pdf_are_headings(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    page = [
        Text(72, 760, "A title that is", 24),
        Text(72, 730, "wrapped", 24),
        *[t._replace(y=t.y - 100) for t in prose(3)],
    ]
    path.write_bytes(make_pdf([[*page, Text(72, 600, "Method", 14), Text(72, 580, "We looked at it.")]]))

    text = text_of(path)

    assert "# A title that is wrapped\n\nLine 0" in text
    assert "\n\n## Method\n\nWe looked at it." in text


def test_links_of_a_pdf_are_links(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    link = b"<< /Type /Annot /Subtype /Link /Rect [%b] /A << /S /URI /URI (%b) >> >>"
    objects = [
        link % (b"70 695 140 712", b"https://example.com/guide"),
        link % (b"70 675 100 690", b"https://example.com/1"),
        link % (b"70 655 300 670", b"javascript:alert(1)"),
    ]
    texts = [Text(72, 700, "Read the guide"), Text(72, 680, "[1]"), Text(72, 660, "nothing here")]
    annotations = b"/Annots [10000 0 R 10001 0 R 10002 0 R]"
    path.write_bytes(make_pdf([texts], objects=objects, entries=annotations))

    text = text_of(path)

    assert "[Read the guide](https://example.com/guide)" in text
    assert text.endswith("Links: [[1]](https://example.com/1)")
    assert "javascript" not in text


def test_values_of_a_form_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    field = b"<< /Type /Annot /Subtype /Widget /FT %b /T (%b) /V %b /Rect [70 600 300 620] %b >>"
    boxes = b"/AS /%b /AP << /N << /Yes 10004 0 R /Off 10004 0 R >> >>"
    objects = [
        field % (b"/Tx", b"name", b"(Ada Lovelace)", b""),
        field % (b"/Btn", b"agreed", b"/Yes", boxes % b"Yes"),
        field % (b"/Btn", b"declined", b"/Off", boxes % b"Off"),
        field % (b"/Tx", b"empty", b"()", b""),
        stream_of(b"", extra=b"/Type /XObject /Subtype /Form /BBox [0 0 10 10]"),
    ]
    fields = b"[10000 0 R 10001 0 R 10002 0 R 10003 0 R]"
    catalog = b"/AcroForm << /Fields %b >>" % fields
    path.write_bytes(
        make_pdf([[Text(72, 700, "Your name")]], objects=objects, entries=b"/Annots " + fields, catalog=catalog)
    )

    assert text_of(path).endswith("Your name\n\nForm fields:\n\n- name: Ada Lovelace\n- agreed: Yes")


def test_a_page_that_is_a_picture_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    image = stream_of(
        b"\xff\x00\x00" * 16,
        extra=b"/Type /XObject /Subtype /Image /Width 4 /Height 4 /ColorSpace /DeviceRGB /BitsPerComponent 8",
    )
    path.write_bytes(
        write_pdf([b"q 500 0 0 800 0 0 cm /I Do Q"], resources=b"/XObject << /I 10000 0 R >>", objects=[image])
    )

    assert "This page is a picture without text: convert.images(..., pages=1, render=True) shows it." in text_of(path)


@pytest.mark.parametrize(
    "page",
    [
        prose(50),
        [
            Text(60 + 260 * column, 780 - 14 * line, f"newspaper text in a column {line:02}")
            for line in range(40)
            for column in (0, 1)
        ],
        [Text(72, 700, "one line"), Text(400, 700, "page 3")],
        [],
    ],
    ids=["prose", "two columns", "a footer", "an empty page"],
)
def test_what_is_no_table_is_none(tmp_path: Path, page: list[Text]) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([page]))

    assert convert.tables(path=str(path))["tables"] == []


def test_words_that_are_written_one_by_one_stay_in_their_cell(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    rows = [
        [Text(72, 700 - 16 * n, "red"), Text(92, 700 - 16 * n, "apple"), Text(300, 700 - 16 * n, f"{n}.50")]
        for n in range(3)
    ]
    path.write_bytes(make_pdf([[text for row in rows for text in row]]))

    assert convert.tables(path=str(path))["tables"][0]["rows"][0] == ["red apple", "0.50"]


def test_pages_of_a_pdf_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([prose(3)] * 3))

    found = convert.images(path=str(path), render=True, pages="2-", limit=1)

    assert [(each["page"], each["image"].mime_type) for each in found["images"]] == [(2, "image/png")]
    assert found["images"][0]["image"].data.startswith(b"\x89PNG")
    assert found["more"]


def test_pictures_are_taken_out_of_a_pdf(tmp_path: Path) -> None:
    image = stream_of(
        b"\xff\x00\x00" * 16,
        extra=b"/Type /XObject /Subtype /Image /Width 4 /Height 4 /ColorSpace /DeviceRGB /BitsPerComponent 8",
    )
    path = tmp_path / "x.pdf"
    path.write_bytes(
        write_pdf([b"q 100 0 0 100 72 600 cm /I Do Q"], resources=b"/XObject << /I 10000 0 R >>", objects=[image])
    )

    [found] = convert.images(path=str(path))["images"]

    assert (found["page"], found["image"].mime_type) == (1, "image/png")
    (tmp_path / "x.png").write_bytes(found["image"].data)
    with Pillow.open(tmp_path / "x.png") as picture:
        assert (picture.size, picture.convert("RGB").getpixel((0, 0))) == ((4, 4), (255, 0, 0))


def test_a_word_document_has_headings_tables_and_pictures(tmp_path: Path) -> None:
    path = make_docx(tmp_path / "x.docx")

    assert text_of(path) == "# Report\n\nPlain and **bold**\n\n| name | price |\n| --- | --- |\n| apple | 1.20 |"
    assert convert.tables(path=str(path))["tables"][0]["rows"] == [["name", "price"], ["apple", "1.20"]]
    assert [each["name"] for each in convert.images(path=str(path))["images"]] == ["image1.png"]


def test_the_title_of_a_word_document_is_a_heading(tmp_path: Path) -> None:
    body = '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>The plan</w:t></w:r></w:p><w:p><w:r><w:t>Text</w:t></w:r></w:p>'
    styles = b'<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style></w:styles>'
    path = make_docx(tmp_path / "x.docx", body=body, parts={"word/styles.xml": styles})

    assert text_of(path) == "# The plan\n\nText"


def test_a_chart_of_an_unknown_kind_does_not_refuse_a_presentation(tmp_path: Path) -> None:
    path = make_pptx(tmp_path / "x.pptx")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in [name for name in members if name.startswith("ppt/charts/chart")]:
        kind = re.search(rb"<c:(\w+)Chart>", members[name])
        assert kind is not None
        members[name] = members[name].replace(b"c:%bChart>" % kind[1], b"c:surface3DChart>")
    make_zip(path, members)

    text = text_of(path)

    assert "|  | Sales |\n| --- | --- |\n| Jan | 120" in text
    assert "Notes: spoken 2" in text


def test_a_presentation_has_its_notes_tables_and_charts(tmp_path: Path) -> None:
    path = make_pptx(tmp_path / "x.pptx")

    found = to_markdown(path=str(path))

    first, second = found["text"].split("\n\n## Slide 2: Title 2")
    assert first.startswith("## Slide 1: Title 1\n\n- first\n  - second")
    assert "| name | price |\n| --- | --- |\n| apple | 1.20 |" in first
    assert "|  | Sales |\n| --- | --- |\n| Jan | 120.0 |" in first
    assert first.endswith("Notes: spoken 1")
    assert second.endswith("Notes: spoken 2")
    assert (found["unit"], found["total"]) == ("slide", 2)
    assert len(convert.tables(path=str(path))["tables"]) == 2


def test_a_workbook_is_a_table_a_sheet(tmp_path: Path) -> None:
    path = make_of_everything(tmp_path / "x.xlsx")

    found = to_markdown(path=str(path))

    assert found["text"].startswith("## Data\n\n| text | 1 | 1.5 | True | 2024-05-01 |")
    assert "#DIV/0!" in found["text"]
    assert "## Secret (very hidden)" in found["text"]
    assert (found["format"], found["unit"], found["total"]) == ("xlsx", "sheet", 4)
    assert convert.tables(path=str(path))["tables"][0]["name"] == "Data"


def test_a_book_is_read_chapter_by_chapter(tmp_path: Path) -> None:
    path = make_epub(tmp_path / "x.epub", chapters=3)

    found = to_markdown(path=str(path), pages="2-3")

    assert found["text"] == "# Chapter 2\n\nOnce upon\n\n# Chapter 3\n\nOnce upon"
    assert (found["title"], found["total"], found["read"]) == ("The Book", 3, 2)
    assert [each["name"] for each in convert.images(path=str(path))["images"]] == ["cover.png"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>A <b>bold</b> title</h2><p>one<br>two</p>", "## A **bold** title\n\none  \ntwo"),
        ("<ul><li>a<li><p>b</p><ol><li>c<li>d</ol></ul><p>e</p>", "- a\n- b\n  1. c\n  2. d\n\ne"),
        ('<a href="https://e.com/x">link</a> <a href="javascript:x()">bad</a>', "[link](https://e.com/x) bad"),
        ('<img src="a.png" alt="A"><img src="data:x" alt="B"><img src="file:///etc/passwd">', "![A](a.png)![B]"),
        ("<pre><code>x = 1\n  y</code></pre>", "```\nx = 1\n  y\n```"),
        ("<blockquote>quoted</blockquote>", "> quoted"),
        (
            "<table><tr><th>a|b<th colspan=2>c<tr><td>1<td>2<td><b>3</b></table>",
            "| a\\|b | c |  |\n| --- | --- | --- |\n| 1 | 2 | **3** |",
        ),
        ("<table><tr><td><table><tr><td>in<td>side</table><td>out</table>", "| in side | out |\n| --- | --- |"),
        ("<script>alert(1)</script><style>p{}</style>seen<!-- not -->", "seen"),
        ("a<b></b>b &lt;&amp;&nbsp;&copy;", "ab <& ©"),
        ("<td>loose</td></table></ul></blockquote></a>", "loose"),
        (
            "<table><tr><th rowspan=2>a<th colspan=2>b<tr><td>1<td rowspan=2>2<tr><td>3<td>4</table>",
            "| a | b |  |\n| --- | --- | --- |\n|  | 1 | 2 |\n| 3 | 4 |  |",
        ),
        ("<p>" * 5000 + "deep" + "</p>" * 5000, "deep"),
    ],
)
def test_html_is_written_as_markdown(html: str, text: str) -> None:
    assert HtmlReader().read(html) == text


def test_a_page_of_html_has_a_title_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_text("<!DOCTYPE html><title>T &amp; U</title><table><tr><td>1</table>")

    assert to_markdown(path=str(path))["title"] == "T & U"
    assert convert.tables(path=str(path))["tables"][0]["rows"] == [["1"]]


@pytest.mark.parametrize(
    "data",
    [b"a,b\n1,2\n", b"a;b\n1;2\n", b"a\tb\n1\t2\n", b'\xef\xbb\xbf"a","b"\r\n1,2\r\n', "a,b\n1,2\n".encode("utf-16")],
    ids=["commas", "semicolons", "tabs", "mark", "UTF-16"],
)
def test_delimited_values_are_a_table(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(data)

    assert text_of(path) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert convert.tables(path=str(path))["tables"][0]["rows"] == [["a", "b"], ["1", "2"]]


def test_text_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes("# Größe\n".encode("cp1252"))

    assert text_of(path) == "# Größe\n"


def test_a_picture_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.jpg"
    exif = Pillow.Exif()
    exif[0x010F] = "Camera & Co"
    Pillow.new("RGB", (30, 20)).save(path, exif=exif)

    text = text_of(path)

    assert "| format | JPEG |\n| width | 30 |\n| height | 20 |" in text
    assert "| Make | Camera & Co |" in text
    assert convert.images(path=str(path))["images"][0]["image"].data == path.read_bytes()


def test_pages_and_limit_bound_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([[Text(72, 700, f"page {number}")] for number in range(1, 31)]))

    limited = to_markdown(path=str(path), limit=3)
    chosen = to_markdown(path=str(path), pages="2,29-", limit=10)

    assert (limited["read"], limited["total"], limited["more"]) == (3, 30, True)
    assert (chosen["read"], chosen["more"]) == (3, False)
    assert [line for line in chosen["text"].splitlines() if line.startswith("page")] == ["page 2", "page 29", "page 30"]


@pytest.mark.parametrize(
    ("pages", "limit", "numbers", "more"),
    [
        (None, 10, [1, 2, 3, 4, 5], False),
        (None, 2, [1, 2], True),
        (3, 10, [3], False),
        ("2-3", 10, [2, 3], False),
        ("4-", 10, [4, 5], False),
        ("-2", 10, [1, 2], False),
        ("5,1,1-2", 10, [5, 1, 2], False),
        ("1-5", 2, [1, 2], True),
        ("4-999999999", 10, [4, 5], False),
    ],
    ids=str,
)
def test_pages_are_chosen_as_people_write_them(
    pages: str | int | None, limit: int, numbers: list[int], *, more: bool
) -> None:
    assert choose(pages, 5, limit) == (numbers, more)


@pytest.mark.parametrize(
    ("pages", "sentence"),
    [
        ("x", "is not a page"),
        ("0", "count from 1"),
        ("3-2", "count from 1"),
        ("6", "the document has 5"),
        ("1,,2", "is not a page"),
    ],
)
def test_pages_that_make_no_sense_are_answered_with_a_sentence(pages: str, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        choose(pages, 5, 10)


def test_what_cannot_be_converted_is_told_with_the_way_out(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "x.zip", {"a.pdf": b"%PDF-"})
    old = tmp_path / "x.doc"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le") + bytes(600))
    binary = tmp_path / "x.bin"
    binary.write_bytes(bytes(range(256)))
    picture = tmp_path / "x.png"
    picture.write_bytes(png())

    for path, sentence in [(archive, "unpack it"), (old, "save it as .docx"), (binary, "cannot be converted")]:
        with pytest.raises(ToolError, match=sentence):
            to_markdown(path=str(path))
    with pytest.raises(ToolError, match="only the pages of a PDF can be rendered"):
        convert.images(path=str(picture), render=True)
    with pytest.raises(ToolError, match="there is no file"):
        to_markdown(path=str(tmp_path / "nothing.pdf"))


def test_rows_of_a_long_table_are_all_there_part_by_part(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = [["id", "amount"], *([str(number), str(number * 2)] for number in range(110_000))]
    path.write_text("".join(f"{','.join(row)}\n" for row in rows))

    first = convert.tables(path=str(path))
    second = convert.tables(path=str(path), offset=first["rows"])

    assert (first["more"], second["more"]) == (True, False)
    assert first["tables"][0]["rows"] + second["tables"][0]["rows"] == rows
    assert convert.tables(path=str(path), limit=None)["tables"][0]["rows"] == rows


def test_a_long_text_is_all_there_part_by_part(tmp_path: Path) -> None:
    csv, text = tmp_path / "long.csv", tmp_path / "long.txt"
    csv.write_text("id,amount\n" + "".join(f"{number},{number}\n" for number in range(25_000)))
    text.write_text("A line of a long text.\n" * 300_000)

    whole, first = to_markdown(path=str(csv)), to_markdown(path=str(csv), limit=1)

    assert (whole["unit"], whole["total"], whole["read"], whole["more"]) == ("part", 3, 3, False)
    assert all(f"| {number} | {number} |" in whole["text"] for number in (0, 10_000, 24_999))
    assert (first["read"], first["more"]) == (1, True)
    assert to_markdown(path=str(csv), offset=2)["text"].startswith("| id | amount |\n| --- | --- |\n| 19999 | 19999 |")
    parts, offset, more = [], 0, True
    while more:
        part = to_markdown(path=str(text), offset=offset)
        parts.append(part["text"])
        offset, more = offset + part["read"], part["more"]
    assert len(parts) == 2
    assert "".join(parts) == text.read_text()


def test_a_sheet_has_all_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "long.xlsx"
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for number in range(3_000):
        sheet.append([number])
    book.save(path)

    assert len(convert.tables(path=str(path))["tables"][0]["rows"]) == 3_000
    assert "| 2999 |" in to_markdown(path=str(path))["text"]


def test_pictures_come_part_by_part(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(make_pdf([prose(3)] * 3))

    second = convert.images(path=str(path), render=True, limit=1, offset=1)
    last = convert.images(path=str(path), render=True, limit=1, offset=2)

    assert ([each["page"] for each in second["images"]], second["more"]) == ([2], True)
    assert ([each["page"] for each in last["images"]], last["more"]) == ([3], False)
