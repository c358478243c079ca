"""Pictures that lie as files in a zip: those of Office documents and e-books."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ot_packs.convert.parts import Picture
from ot_packs.documents.archives import read_member
from ot_packs.documents.failures import reading

MAX_PICTURE = 16 * 1024 * 1024  # bytes
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".bmp": "image/bmp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}


def pictures_in(path: Path, folder: str = "") -> Iterator[Picture]:
    """Yield the pictures below a folder of a zip file, as they are; what is larger than 16 MB is left out."""
    with reading(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            mime_type = _TYPES.get(posixpath.splitext(member.filename)[1].lower())
            if mime_type and member.filename.startswith(folder) and member.file_size <= MAX_PICTURE:
                data = read_member(archive, member.filename, limit=MAX_PICTURE)
                yield Picture(0, posixpath.basename(member.filename), mime_type, data)
