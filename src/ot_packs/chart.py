"""Behind the `chart` pack: Vega-Lite specifications, those of the usual charts and others, checked and drawn.

Vega-Lite draws an empty chart where data cannot be reached or a field does not exist; both are mistakes here.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TypedDict

from mcp_core.json_types import Json
from mcp_core.nearest_names import likeness, nearest
from ot.errors import ToolError
from ot.values import Image
from ot_packs.pictures import Written, format_of, require_fonts, require_self_contained, write_picture

ChartRows = Sequence[Mapping[str, object]]

MAX_ROWS = 100_000
MAX_PIXELS = 40_000_000

_VIEWS = ("mark", "layer", "facet", "hconcat", "vconcat", "concat", "repeat", "spec")
_MARKS = (
    "arc", "area", "bar", "boxplot", "circle", "errorband", "errorbar", "geoshape", "image", "line", "point", "rect",
    "rule", "square", "text", "tick", "trail",
)  # fmt: skip
_GENERATED = ("transform", "params", "repeat", "facet")  # what can make fields that are not in the rows
_NO_ADDRESS: list[str] = []  # or Vega would load what a specification names


class UsualChart(TypedDict):
    mark: dict[str, Json]
    encoding: dict[str, dict[str, Json]]


def encode(mark: str, rows: ChartRows, **channels: str | None) -> UsualChart:
    """Build the specification of a usual chart, whose channels show fields of the rows."""
    columns = _columns(rows)
    encoding: dict[str, dict[str, Json]] = {
        channel: {"field": _escape(field), "title": field, "type": _kind_of(rows, field, columns)}
        for channel, field in channels.items()
        if field is not None
    }
    return {"mark": {"type": mark}, "encoding": encoding}


def fill_in(spec: Mapping[str, object], rows: ChartRows | None) -> dict[str, object]:
    """Return a checked specification with its rows; raises ToolError with the mistake and its place."""
    if not any(view in spec for view in _VIEWS):
        raise ToolError(f"this is not a Vega-Lite specification: it has none of {', '.join(_VIEWS)}")
    for place, data in _walk(spec, "spec"):
        _check_part(place, data)
    filled = dict(spec)
    if rows is not None:
        if len(rows) > MAX_ROWS:
            raise ToolError(f"a chart takes up to {MAX_ROWS} rows, not {len(rows)}: aggregate them first")
        filled["data"] = {"values": [{name: _plain(value) for name, value in row.items()} for row in rows]}
    _check_fields(filled)
    return filled


def _walk(value: object, place: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    if isinstance(value, dict):
        yield place, value
        for key, inner in value.items():
            if key != "values":
                yield from _walk(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{place}[{index}]")


def _check_part(place: str, part: Mapping[str, object]) -> None:
    if "url" in part:
        raise ToolError(f"{place}.url: a chart loads nothing; fetch the data in the run and pass it as rows")
    mark = part.get("mark")
    name = mark.get("type") if isinstance(mark, dict) else mark
    if "mark" in part and name not in _MARKS:
        meant = _meant(str(name), _MARKS)
        raise ToolError(f"{place}.mark: {name!r} is not a mark{meant}; the marks are {', '.join(_MARKS)}")
    if "href" in part:
        raise ToolError(f"{place}.href: a picture has no links; remove the channel")
    if name == "image":
        raise ToolError(f"{place}.mark: a chart loads no pictures, so the mark image has nothing to draw")


def _check_fields(spec: Mapping[str, object]) -> None:
    """Refuse fields that no row has, where the rows are known and nothing in the specification makes new ones."""
    data = spec.get("data")
    rows = data.get("values") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return
    parts = list(_walk({key: value for key, value in spec.items() if key != "data"}, "spec"))
    if any(key in part for _, part in parts for key in (*_GENERATED, "data", "datasets")):
        return
    columns = _columns(rows)
    for place, part in parts:
        field = part.get("field")
        if not isinstance(field, str):
            continue
        first_step = field.replace("[", ".").split(".")[0]
        if field.replace("\\", "") not in columns and first_step not in columns:
            raise _no_field(field, columns, f"{place}.field: ")


def _columns(rows: ChartRows) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in row))


def _kind_of(rows: ChartRows, field: str, columns: Sequence[str]) -> str:
    values = [row[field] for row in rows if row.get(field) is not None]
    if not values and field not in columns and rows:
        raise _no_field(field, columns)
    if values and all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values):
        return "quantitative"
    return "temporal" if values and all(_is_time(value) for value in values) else "nominal"


def _is_time(value: object) -> bool:
    if isinstance(value, datetime.date):
        return True
    if not isinstance(value, str) or len(value) < 8:
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _plain(value: object) -> Json:
    """A value as JSON has it: times as text, decimals as numbers."""
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return float(value)
        case str() | int() | float() | None | list() | dict():
            return value
        case _:
            return str(value)


def _escape(field: str) -> str:
    """A field's name as Vega takes it, to which dots and brackets are steps into objects."""
    return "".join(f"\\{letter}" if letter in "\\.[]'\"" else letter for letter in field)


def _no_field(field: str, columns: Sequence[str], place: str = "") -> ToolError:
    return ToolError(f"{place}no row has {field!r}{_meant(field, columns)}; the rows have {', '.join(columns)}")


def _meant(name: str, names: Sequence[str]) -> str:
    near = nearest(name, names)[:1]
    return f" (did you mean {near[0]!r}?)" if near and likeness(name, near[0]) > 0.5 else ""


def draw_chart(
    spec: Mapping[str, object],
    rows: ChartRows | None,
    *,
    theme: str | None = None,
    scale: float = 1.0,
    allow_boxes: bool = False,
    output: str | None = None,
) -> Image | Written:
    """Return the picture, or write it to `output`, whose ending says in which format; raises ToolError."""
    form = format_of(output, ("png", "svg", "jpeg", "pdf"))
    filled = fill_in(spec, rows)
    if not allow_boxes:
        require_fonts([json.dumps(filled, ensure_ascii=False, default=str)])
    picture = _convert(_draw(filled, theme), form, scale)
    return write_picture(picture, output, form) if output else Image(picture, "image/png")


def _draw(spec: dict[str, object], theme: str | None) -> str:
    """Return the chart as SVG; raises ToolError."""
    import vl_convert

    if theme is not None and theme not in (themes := vl_convert.get_themes()):
        raise ToolError(f"there is no theme {theme!r}; the themes are {', '.join(sorted(themes))}")
    try:
        return str(vl_convert.vegalite_to_svg(spec, theme=theme, allowed_base_urls=_NO_ADDRESS))
    except ValueError as error:
        with suppress(ValueError):
            vl_convert.get_themes()  # what its JavaScript has left undone would otherwise fail the next chart
        # Its own sentence, without the stack of JavaScript.
        lines = [line for line in map(str.strip, str(error).splitlines()) if line and not line.startswith("at ")]
        raise ToolError(f"Vega-Lite cannot draw this: {' '.join(lines[1:] or lines)[:500]}") from error


def _convert(svg: str, form: str, scale: float) -> bytes:
    import vl_convert

    require_self_contained(svg)
    size = re.search(r'<svg[^>]*\swidth="([\d.]+)"[^>]*\sheight="([\d.]+)"', svg[:2000])
    wide, high = (float(size[1]), float(size[2])) if size is not None else (0, 0)
    if wide * high * scale * scale > MAX_PIXELS:
        raise ToolError(f"{wide:.0f} by {high:.0f} at scale {scale:g} are more than {MAX_PIXELS} pixels")
    if form == "svg":
        return svg.encode()
    drawn = {"pdf": vl_convert.svg_to_pdf, "jpeg": vl_convert.svg_to_jpeg, "png": vl_convert.svg_to_png}
    return bytes(drawn[form](svg, scale=scale))


def as_specification(spec: Mapping[str, object] | str) -> Mapping[str, object]:
    """Return a specification that may have been given as JSON text; raises ToolError."""
    if not isinstance(spec, str):
        return spec
    try:
        value = json.loads(spec)
    except ValueError as error:
        raise ToolError(f"the specification is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ToolError("the specification is not a JSON object")
    return value
