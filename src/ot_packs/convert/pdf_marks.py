"""The marks of a PDF page beside its text: the size of lines, which tells headings, links, and values of a form."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import pypdfium2
from pypdfium2 import raw

_MOST = 2000  # links or fields of a page
_LONGEST = 8192  # bytes of an address or of a value
_LEVELS = ((1.75, "# "), (1.35, "## "), (1.12, "### "))  # how much larger than the text a heading is
_SAFE = re.compile(r"(?:https?://|mailto:)[^\s<>]+", re.IGNORECASE)


def find_headings(text: pypdfium2.PdfTextPage) -> dict[str, str]:
    """Return the lines whose letters are larger than those of most others, with the mark of their level."""
    lines = list(_lines(text))
    sizes = Counter[float]()
    for line, size in lines:
        sizes[size] += len(line)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    found: dict[str, str] = {}
    for line, size in lines:
        mark = next((mark for share, mark in _LEVELS if size >= share * usual > 0), "")
        if mark and len(line) <= 200 and any(letter.isalpha() for letter in line):
            found[line] = mark
    return found


def _lines(text: pypdfium2.PdfTextPage) -> Iterator[tuple[str, float]]:
    """Yield each line with the height of its first letter, in half points."""
    box = raw.FS_RECTF()
    place = 0  # in units of UTF-16, by which the library counts
    for line in re.findall(r"[^\n]*\n|[^\n]+", text.get_text_range()):
        words = line.lstrip()
        index = raw.FPDFText_GetCharIndexFromTextIndex(text, place + len(line) - len(words)) if words else -1
        if index >= 0 and raw.FPDFText_GetLooseCharBox(text, index, box):
            yield " ".join(words.split()), round(2 * abs(box.top - box.bottom)) / 2
        place += len(line) if line.isascii() else len(line.encode("utf-16-le", "surrogatepass")) // 2


def mark_headings(text: str, headings: Mapping[str, str]) -> str:
    """Write the lines that are headings as such; one that is wrapped is one heading."""
    if not headings:
        return text
    lines = list[str]()
    last = ""
    for line in text.split("\n"):
        mark = headings.get(" ".join(line.split()), "")
        if mark and mark == last:
            lines[-2] += " " + line.strip()
        elif mark:
            lines += ["", mark + line.strip(), ""]
        else:
            lines.append(line)
        last = mark
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def find_links(page: pypdfium2.PdfPage) -> Iterator[tuple[tuple[float, float, float, float], str]]:
    """Yield the place of each link to a page of the web or to an address of mail, and where it leads."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MOST):
        if not raw.FPDFLink_Enumerate(page, place, link):
            return
        action, box = raw.FPDFLink_GetAction(link), raw.FS_RECTF()
        if not action or not raw.FPDFLink_GetAnnotRect(link, box):
            continue
        buffer = ctypes.create_string_buffer(_LONGEST)
        size = raw.FPDFAction_GetURIPath(page.pdf, action, buffer, _LONGEST)
        address = buffer.raw[: max(min(size, _LONGEST) - 1, 0)].decode("utf-8", "replace")
        if _SAFE.fullmatch(address):
            yield (box.left, box.bottom, box.right, box.top), address


def mark_links(text: str, links: Iterable[tuple[str, str]]) -> str:
    """Write links into a text where their words stand once, and the others below it."""
    left_over = list[str]()
    for words, address in dict.fromkeys(links):
        link = f"[{words or address}]({address})"
        if words.strip("/") in address and words:
            continue  # the address can be read already
        if len(words) >= 4 and text.count(words) == 1:  # characters; a shorter one is found in other words too
            text = text.replace(words, link)
        elif link not in left_over:
            left_over.append(link)
    return f"{text}\n\nLinks: {', '.join(left_over)}".strip() if left_over else text


def read_fields(page: pypdfium2.PdfPage) -> Iterator[tuple[str, str]]:
    """Yield the fields of a form on a page that have a value, with their names."""
    form = page.formenv
    if form is None:
        return
    chosen = raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
            name = _field_text(raw.FPDFAnnot_GetFormFieldName, form, annotation)
            value = _field_text(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
            if raw.FPDFAnnot_GetFormFieldType(form, annotation) in chosen:
                value = (value or "yes") if raw.FPDFAnnot_IsChecked(form, annotation) else ""
            if value and value != "Off":
                yield " ".join(name.split()), value
        raw.FPDFPage_CloseAnnot(annotation)


def _field_text(read: object, form: object, annotation: object) -> str:
    assert callable(read)
    buffer = (ctypes.c_ushort * (_LONGEST // 2))()
    size = min(read(form, annotation, buffer, _LONGEST), _LONGEST)
    return bytes(buffer)[: max(size - 2, 0)].decode("utf-16-le", "replace").strip()
