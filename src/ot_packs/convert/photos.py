"""Pictures as documents: what they say about themselves; their pixels are for OCR only."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from PIL import ExifTags, Image, ImageOps

from ot.errors import ToolError
from ot_packs.convert.parts import OCR_SIDE, Document, Part, Picture, Table, markdown_table
from ot_packs.documents import reading

MAX_FILE = 16 * 1024 * 1024  # bytes of one that is returned


class Photo(Document):
    """A picture; it may say that it has any number of pixels, which are unpacked for OCR only."""

    unit = "picture"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            Image.MAX_IMAGE_PIXELS = None  # nothing is unpacked but by `drawn`
            with Image.open(path) as image:
                self._mime_type = str(Image.MIME.get(image.format or "", "application/octet-stream"))
                self._facts = list(_facts(image))

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        yield Part(1, markdown_table([["property", "value"], *self._facts]), picture=True)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        yield Table(1, "", [["property", "value"], *map(list, self._facts)])

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        if self.path.stat().st_size > MAX_FILE:
            raise ToolError(f"{self.path.name} is larger than {MAX_FILE >> 20} MB")
        yield Picture(1, self.path.name, self._mime_type, self.path.read_bytes())

    def drawn(self, number: int) -> bytes:
        with reading(self.path), Image.open(self.path) as image:
            if image.width * image.height > 40_000_000:  # of one that is unpacked
                raise ToolError(f"a picture of {image.width} by {image.height} pixels is too large")
            if getattr(image, "n_frames", 1) > 1:
                raise ToolError("it has several frames; save them as pictures of their own")
            grey = ImageOps.exif_transpose(image).convert("L")
        grey.thumbnail((OCR_SIDE, OCR_SIDE))
        file = io.BytesIO()
        grey.save(file, "PNG")
        return file.getvalue()


def _facts(image: Image.Image) -> Iterator[tuple[str, str]]:
    yield "format", str(image.format)
    yield "width", str(image.width)
    yield "height", str(image.height)
    yield "mode", image.mode
    if getattr(image, "n_frames", 1) > 1:
        yield "frames", str(getattr(image, "n_frames", 1))
    if "dpi" in image.info:
        yield "dpi", _shown(image.info["dpi"])
    # Where a PNG has none, the library would unpack all pixels to look behind them.
    exif = image.getexif() if image.format != "PNG" or "exif" in image.info else Image.Exif()
    for tag, value in [*exif.items(), *exif.get_ifd(ExifTags.IFD.Exif).items()]:
        if tag not in (ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo):
            yield ExifTags.TAGS.get(tag, f"tag {tag}"), _shown(value)
    for tag, value in exif.get_ifd(ExifTags.IFD.GPSInfo).items():
        yield ExifTags.GPSTAGS.get(tag, f"GPS tag {tag}"), _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value).replace("\x00", "")[:500]  # characters of a value
