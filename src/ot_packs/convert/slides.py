"""PowerPoint presentations: the text of slides in the order of their shapes, tables, the data of charts, notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pptx import Presentation
from pptx.oxml.xmlchemy import BaseOxmlElement
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide

from ot_packs.convert.parts import Document, Part, Picture, Table, markdown_table, pictures_in
from ot_packs.documents import check_archive, reading

_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


class Slides(Document):
    unit = "slide"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        check_archive(path)
        with reading(path), path.open("rb") as file:
            presentation = Presentation(file)
            self._slides = list(presentation.slides)
            self.title = str(presentation.core_properties.title or "")
        self.total = len(self._slides)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        for number in numbers:
            with reading(self.path):
                text = _slide(self._slides[number - 1], number)
            yield Part(number, text)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        for number in numbers:
            with reading(self.path):
                found = [(shape.name, _rows(shape)) for shape in _shapes(self._slides[number - 1].shapes)]
            yield from (Table(number, name, rows) for name, rows in found if rows)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return pictures_in(self.path, "ppt/media/")


def _shapes(shapes: Iterable[BaseShape], depth: int = 0) -> Iterator[BaseShape]:
    """Yield shapes, those in groups too."""
    for shape in shapes:
        if isinstance(shape, GroupShape) and depth < 20:  # groups in groups
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _slide(slide: Slide, number: int) -> str:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    blocks = [f"## Slide {number}" + (f": {heading}" if heading else "")]
    for shape in _shapes(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        rows = _rows(shape)
        if rows:
            blocks.append(markdown_table(rows))
        elif isinstance(shape, Shape):
            found = [(each.level, " ".join(each.text.split())) for each in shape.text_frame.paragraphs]
            filled = [(level, text) for level, text in found if text]
            lone = len(filled) == 1
            blocks.append("\n".join(text if lone else f"{'  ' * level}- {text}" for level, text in filled))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            blocks.append("Notes: " + notes)
    return "\n\n".join(block for block in blocks if block)


def _rows(shape: BaseShape) -> list[list[str]]:
    """Return the rows of a table, or the series of a chart; nothing for other shapes."""
    if not isinstance(shape, GraphicFrame):
        return []
    if shape.has_table:
        return [[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows]
    if not shape.has_chart:
        return []
    try:
        plots = list(shape.chart.plots)
    except ValueError:  # a kind of chart that the library does not know, such as one in three dimensions
        return _series(shape.chart.element)
    if not plots:
        return []
    series = list(plots[0].series)
    columns = [[str(value) if value is not None else "" for value in each.values] for each in series]
    categories = [str(category) for category in plots[0].categories]
    return _as_rows([str(each.name) for each in series], categories, columns)


def _as_rows(names: list[str], categories: list[str], columns: list[list[str]]) -> list[list[str]]:
    height = max([len(categories), *map(len, columns)], default=0)
    filled = [[*column, *[""] * (height - len(column))] for column in [categories, *columns]]
    return [["", *names], *map(list, zip(*filled, strict=True))]


def _series(chart: BaseOxmlElement) -> list[list[str]]:
    """Return the series of a chart of any kind, by the values that it keeps of its workbook."""
    names, categories, columns = list[str](), list[str](), list[list[str]]()
    for series in chart.iter(f"{_CHART}ser"):
        names.append(next(iter(_values(series, "tx")), ""))
        categories = categories or _values(series, "cat") or _values(series, "xVal")
        columns.append(_values(series, "val") or _values(series, "yVal"))
    return _as_rows(names, categories, columns) if columns else []


def _values(series: BaseOxmlElement, kind: str) -> list[str]:
    return [value.text or "" for part in series.iter(f"{_CHART}{kind}") for value in part.iter(f"{_CHART}v")]
