"""The text of a page: by its own words about its charset as far as they are true."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_LOOKED_AT = 4096  # bytes at the beginning, where a page may say it
# What pages call so is the larger charset of Windows, and was before there was a standard for it.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}


def decode_page(data: bytes, declared: str | None) -> tuple[str, str]:
    """Return the text and its charset: the first of all candidates in which every byte means something."""
    for charset in _candidates(data, declared):
        try:
            return data.decode(charset), charset
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", errors="replace"), "cp1252"


def _candidates(data: bytes, declared: str | None) -> Iterator[str]:
    yield from (charset for mark, charset in _BOMS if data.startswith(mark))
    beginning = data[:_LOOKED_AT]
    found = _META.search(beginning) or _XML.search(beginning)
    for name in (declared, found[1].decode("ascii") if found else None):
        if name and (known := _known(name)):
            yield known
    yield "utf-8"


def _known(name: str) -> str | None:
    """The codec for a charset, if it turns bytes into text: Python has others, such as zip."""
    try:
        info = codecs.lookup(name.strip().strip("\"'"))
    except (LookupError, ValueError):
        return None
    return _MEANT.get(info.name, info.name) if info._is_text_encoding else None  # noqa: SLF001 - what bytes.decode asks
