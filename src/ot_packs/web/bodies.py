"""Bodies of requests and answers: what is sent, the text of a page by its charset, and the sections of a text."""

from __future__ import annotations

import codecs
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urldefrag, urlencode, urljoin

from mcp_core.json_types import Json
from mcp_core.nearest_names import nearest
from ot.errors import ToolError
from ot_packs.net.client import Answer

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
# What pages call so is the larger charset of Windows, and was before there was a standard for it.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
_HIDDEN = re.compile(r"<!--.*?-->|<(script|noscript|template|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_REFRESH = re.compile(
    r"<meta\b(?=[^>]*http-equiv\s*=\s*[\"']?refresh\b)[^>]*?content\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE
)
_DELAYED = re.compile(r"\s*(\d{1,2})(?:\.\d*)?\s*[;,]\s*url\s*=\s*[\"']?([^\"']+)", re.IGNORECASE)
_READ = 65_536  # bytes of a page in which it may say that it leads elsewhere


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
    beginning = data[:4096]  # bytes at the beginning, where a page may say it
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


def find_refresh(answer: Answer) -> str | None:
    """Return the address to which a page of HTML sends its reader at once; None if it is meant to be read."""
    text = _HIDDEN.sub("", decode_page(answer.body[:_READ], answer.charset)[0])
    found = _REFRESH.search(text)
    target = _DELAYED.match(html.unescape(found[1][1:-1])) if found else None
    if target is None or int(target[1]) > 5:  # seconds; a page that stays longer is meant to be read
        return None
    try:
        address = urldefrag(urljoin(answer.url, target[2].strip())).url
    except ValueError:
        return None
    return address if address != urldefrag(answer.url).url else None


def find_section(text: str, wanted: str) -> str:
    """Return the part below a heading, itself included; raises ToolError with the headings there are."""
    lines = text.splitlines()
    headings = list(_headings(lines))
    names = [words for _, _, words in headings]
    begin = _match(names, wanted)
    if begin is None:
        known = ", ".join(repr(name) for name in nearest(wanted, dict.fromkeys(names))[:10]) or "none"
        raise ToolError(f"the page has no section {wanted!r}; the nearest headings: {known}")
    first, level, _ = headings[begin]
    end = next((line for line, later, _ in headings[begin + 1 :] if later <= level), len(lines))
    return "\n".join(lines[first:end]).strip()


def _match(names: Sequence[str], wanted: str) -> int | None:
    """The heading with exactly these words, else the first that holds them; letters' case does not count."""
    plain = [name.casefold() for name in names]
    word = wanted.strip().lstrip("#").strip().casefold()
    if word in plain:
        return plain.index(word)
    return next((index for index, name in enumerate(plain) if word and word in name), None)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the number of the line of each heading, its level and its words."""
    fence = ""
    for number, line in enumerate(lines):
        if marker := re.match(r"\s{0,3}(`{3,}|~{3,})", line):
            fence = "" if fence and marker[1].startswith(fence) else fence or marker[1]
        elif not fence and (found := re.match(r"(#{1,6})\s+(.*?)\s*#*$", line)):
            yield number, len(found[1]), re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[2]).strip()


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that would contradict the address or the body of a request; raises ToolError."""
    # A `Host` of the code's own would reach another site behind the same address than the one that was checked.
    for name in headers:
        if name.strip().lower() in {"host", "content-length", "transfer-encoding"}:
            source = "the address and the body of the request"
            raise ToolError(f"the header {name.strip()} follows from {source}: leave it out")


def encode_body(value: Json, form: dict[str, str] | None, text: str | None) -> tuple[bytes | None, dict[str, str]]:
    """Return the bytes that are sent, and the header that says what they are; raises ToolError if two are given."""
    if sum(given is not None for given in (value, form, text)) > 1:
        raise ToolError("a request has one body: pass json, form or text")
    if value is not None:
        return json.dumps(value).encode(), {"content-type": "application/json"}
    if form is not None:
        return urlencode(form).encode(), {"content-type": "application/x-www-form-urlencoded"}
    return (text.encode(), {"content-type": "text/plain; charset=utf-8"}) if text is not None else (None, {})


def body_of(answer: Answer) -> Json | bytes:
    """Return the body of an answer: JSON where it is JSON, else text where it is text, else bytes."""
    kind = answer.media_type
    if kind == "application/json" or kind.endswith("+json"):
        try:
            value: Json = json.loads(answer.body)
        except (ValueError, RecursionError):
            return decode_page(answer.body, answer.charset)[0]  # what it says it is, it is not
        return value
    if kind.startswith("text/") or kind.endswith("xml") or not answer.body:
        return decode_page(answer.body, answer.charset)[0]
    return answer.body
