"""Zip files and the XML in them, before any library opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.errors import ToolError
from ot_packs.documents import check_archive, check_xml
from tests.packs.convert.documents import make_zip

DECLARED = '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'
BLANKS = " " * 100_000


@pytest.mark.parametrize(
    "data",
    [
        DECLARED.encode(),
        f'<?xml version="1.0"?>{DECLARED}'.encode(),
        f"\ufeff{DECLARED}".encode(),
        (BLANKS + DECLARED).encode(),
        DECLARED.encode("utf-16"),
        b"\xfe\xff" + DECLARED.encode("utf-16-be"),
        DECLARED.encode("utf-16-le"),
        DECLARED.encode("utf-16-be"),
        DECLARED.encode("utf-32"),
        DECLARED.encode("utf-32-be"),
        ('<?xml version="1.0" encoding="cp037"?>' + DECLARED).encode("cp037"),
        b'<?xml version="1.0" encoding="cp037"?>' + DECLARED.encode("cp037"),
        f'<?xml version="1.0" encoding="UTF-7"?>{DECLARED.replace("<", "+ADw-")}'.encode(),
        f'<?xml version="1.0" {BLANKS} encoding = "UTF-7"?>{DECLARED.replace("<", "+ADw-")}'.encode(),
        f'<?xml version="1.0" encoding="nonsense"?>{DECLARED}'.encode(),
        (b"<x>" + b"y" * ((1 << 20) - 6)) + DECLARED.encode(),
    ],
    ids=[
        *(
            "plain",
            "declared",
            "marked",
            "after blanks",
            "UTF-16",
            "UTF-16 BE",
            "unmarked UTF-16",
            "unmarked UTF-16 BE",
        ),
        *("UTF-32", "UTF-32 BE", "EBCDIC", "half EBCDIC", "UTF-7", "UTF-7 far away", "unknown", "across two blocks"),
    ],
)
def test_entities_are_found_however_they_are_encoded(tmp_path: Path, data: bytes) -> None:
    path = make_zip(tmp_path / "x.zip", {"word/document.xml": data})

    with pytest.raises(ToolError, match=r"word/document.xml in x.zip (declares|is encoded)"):
        check_archive(path)


@pytest.mark.parametrize(
    "data",
    [
        b"<x>&lt;!DOCTYPE html&gt;</x>",
        '<?xml version="1.0" encoding="UTF-16"?><x/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="iso-8859-1" standalone="yes"?><x>\xe4</x>',
        b'\x02\x00\x00\x00<?xml version="1.0"?><!DOCTYPE plist>',
        b"",
    ],
    ids=["escaped", "UTF-16", "Latin 1", "a printer's settings", "empty"],
)
def test_ordinary_members_pass(tmp_path: Path, data: bytes) -> None:
    check_archive(make_zip(tmp_path / "x.zip", {"part.bin": data}))


def test_a_bare_document_type_is_harmless_where_it_is_usual(tmp_path: Path) -> None:
    assert check_xml(tmp_path, "book.opf", b"<!DOCTYPE package><package/>") == b"<!DOCTYPE package><package/>"
    with pytest.raises(ToolError, match="declares"):
        check_xml(tmp_path, "book.opf", DECLARED.encode())


def test_a_zip_file_behind_a_password_is_told(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"a.xml": b"<a/>"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    with pytest.raises(ToolError, match="encrypted zip file"):
        check_archive(path)
