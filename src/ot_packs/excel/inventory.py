"""The parts of a workbook beside cells, counted before and after an edit, so that losses are noticed.

The library that edits keeps what it understands and drops the rest without a word. Nobody keeps a true list of what
that is, so nothing is assumed here: kinds of parts, and elements of sheets, drawings and charts, are counted in both.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import Path

from ot_packs.documents import parse_member

# Written again by every program as it likes, or of no consequence.
_HARMLESS_PARTS = re.compile(
    r"\[Content_Types\]\.xml|.*\.rels|docProps/.*|xl/(workbook|styles|sharedStrings|calcChain)\.xml|xl/theme/.*|"
    r"xl/printerSettings/.*|xl/drawings/.*|xl/worksheets/[^/]*\.xml|xl/media/.*|xl/charts/(style|colors)\d*\.xml|"
    r"xl/comments[^/]*\.xml|xl/comments/.*|xl/persons/.*|customXml/itemProps.*|.*/"
)
_PARTS = (
    (r"xl/charts/chart\d*\.xml", "charts"),
    (r"xl/charts/chartEx.*|xl/chartEx.*", "charts of newer kinds"),
    (r"xl/charts/.*", "details of charts"),
    (r"xl/chartsheets/.*", "chart sheets"),
    (r"xl/(dialogsheets|macrosheets|intlMacrosheets)/.*", "sheets of macros or dialogs"),
    (r"xl/pivot(Tables|Cache)/.*", "pivot tables"),
    (r"xl/tables/.*", "tables"),
    (r"xl/externalLinks/.*", "links to other workbooks"),
    (r"xl/vbaProject.*|xl/vba.*", "macros"),
    (r"xl/(slicers|slicerCaches)/.*", "slicers"),
    (r"xl/(timelines|timelineCaches)/.*", "timelines"),
    (r"xl/(queryTables/.*|connections\.xml|model/.*)", "data connections"),
    (r"xl/threadedComments/.*", "threaded comments"),
    (r"xl/diagrams/.*", "SmartArt"),
    (r"xl/embeddings/.*", "embedded objects"),
    (r"xl/(ctrlProps|activeX)/.*", "form controls"),
    (r"xl/(metadata\.xml|richData/.*)", "dynamic arrays or pictures in cells"),
    (r"xl/xmlMaps\.xml|customXml/.*", "XML data"),
    (r"_xmlsignatures/.*", "a digital signature"),
    (r"xl/featurePropertyBag/.*", "check boxes"),
    (r"customUI/.*", "a ribbon of its own"),
)
_DRAWN = {"pic": "pictures", "sp": "shapes", "cxnSp": "shapes", "grpSp": "groups of shapes", "graphicFrame": "graphics"}
_EXTENSIONS = {
    "{05C60535-1F16-4FD2-B633-F4F36F0B64E0}": "sparklines",
    "{78C0D931-6437-407D-A8EE-F0AAD7539E65}": "newer conditional formats",
    "{CCE6A557-97BC-4B89-ADB6-D9C93CAAB3DF}": "newer data validations",
    "{A8765BA9-456A-4DAB-B4F3-ACF838C121DE}": "slicers",
    "{3A4CF648-6AED-40F4-86FF-DC5316D8AED3}": "slicers",
    "{7E03D99C-DC04-49D9-9315-930204A7B6E9}": "timelines",
    "{B025F937-C7B1-47D3-B67F-A62EFF666E3E}": "",  # points at newer conditional formats
    "{64002731-A6B0-56B0-2670-7721B7C09600}": "",  # how a Mac shows the page
}
_IN_TEXTS = {"rPr": "formats within a cell's text", "rPh": "phonetic readings"}
_IN_SHEETS = {
    "legacyDrawing": "form controls",
    "legacyDrawingHF": "pictures in headers or footers",
    "picture": "background pictures",
    "drawing": "",  # told by what is drawn
}
_OF_CHART = " of a chart"
# Of a sheet: content, which is compared by nobody here, and what programs write again as they like.
_CELLS = {"worksheet", "sheetData", "row", "c", "v", "f", "is", "t", "r", "cols", "col", "dimension", "sheetCalcPr"}
_EXTENDED = {"extLst", "ext", "AlternateContent", "Choice", "Fallback"}
_HARMLESS_IN_SHEETS = _CELLS | _EXTENDED | {"ignoredErrors", "ignoredError", "phoneticPr"}
_HARMLESS_IN_CHARTS = _EXTENDED | {
    *("style", "printSettings", "headerFooter", "pageMargins", "pageSetup", "date1904", "lang", "roundedCorners"),
    *("uniqueId", "uniqueID", "autoUpdate"),
    *("strCache", "numCache", "ptCount", "pt", "v", "formatCode"),  # computed when it is opened
}


def take_inventory(path: Path) -> Counter[str]:
    """Count what a workbook has, under names for people."""
    found: Counter[str] = Counter()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            found.update(_parts_like(name))
            if re.fullmatch(r"xl/worksheets/[^/]*\.xml", name):
                found.update(_in_sheet(archive, name))
            elif re.fullmatch(r"xl/drawings/[^/]*\.xml", name):
                tags, _ = _elements(archive, name)
                for tag, kind in _DRAWN.items():
                    found[kind] += tags[tag]
            elif re.fullmatch(r"xl/charts/chart\d*\.xml", name):
                tags, _ = _elements(archive, name)
                found.update({tag + _OF_CHART: 1 for tag in tags.keys() - _HARMLESS_IN_CHARTS})
            elif re.fullmatch(r"xl/comments[^/]*\.xml|xl/comments/.*\.xml", name):
                found["comments"] += _elements(archive, name)[0]["comment"]
            elif name == "xl/sharedStrings.xml":
                tags, _ = _elements(archive, name)
                found.update({kind: 1 for tag, kind in _IN_TEXTS.items() if tags[tag]})
    return +found


def lost_between(before: Counter[str], after: Counter[str]) -> list[str]:
    """Name what there is less of, with its number where that says something."""
    lost = before - after
    for kind in _IN_TEXTS.values():  # one text of many cells may have become as many texts
        if after[kind]:
            del lost[kind]
    details = sorted(name.removesuffix(_OF_CHART) for name in lost if name.endswith(_OF_CHART))
    names = [f"{count} {name}" if count > 1 else name for name, count in sorted(lost.items()) if _OF_CHART not in name]
    return [*names, *([f"details of charts ({', '.join(details[:8])})"] if details else [])]


def _parts_like(name: str) -> dict[str, int]:
    for pattern, kind in _PARTS:
        if re.fullmatch(pattern, name) and not name.endswith(".rels"):
            return {kind: 1}
    return {} if _HARMLESS_PARTS.fullmatch(name) else {f"the part {name.rpartition('/')[0] or name}": 1}


def _in_sheet(archive: zipfile.ZipFile, name: str) -> Counter[str]:
    tags, extensions = _elements(archive, name)
    others = tags.keys() - _HARMLESS_IN_SHEETS - _IN_TEXTS.keys()
    found = Counter(_IN_SHEETS.get(tag, f"{tag} of a sheet") for tag in others)
    found.update({kind: 1 for tag, kind in _IN_TEXTS.items() if tags[tag]})
    for uri, count in extensions.items():
        found[_EXTENSIONS.get(uri.upper(), f"the extension {uri}")] += count
    found.pop("", None)
    return found


def _elements(archive: zipfile.ZipFile, name: str) -> tuple[Counter[str], Counter[str]]:
    """Count the elements of a part by their names, and the extensions by their identifiers."""
    tags: Counter[str] = Counter()
    extensions: Counter[str] = Counter()
    depth_of_extension = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth_of_extension
        local = tag.rpartition(":")[2]
        if depth_of_extension or local == "ext":
            # What is in an extension is told by the extension.
            depth_of_extension += 1
            if depth_of_extension == 1 and "uri" in attributes:
                extensions[attributes["uri"]] += 1
            return
        tags[local] += 1

    def end(tag: str) -> None:
        nonlocal depth_of_extension
        depth_of_extension = max(depth_of_extension - 1, 0)

    parse_member(archive, name, StartElementHandler=start, EndElementHandler=end)
    return tags, extensions
