"""The chart pack: pictures from rows, files, and mistakes that Vega-Lite would draw as an empty chart."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from ot.clients.caller import Caller
from ot.errors import ToolTimeoutError
from tests.packs.drawing import Studio, size_of, studio

__all__ = ["studio"]

ROWS = '[{"day": f"2026-01-{d:02}", "n": d * d % 7, "kind": "ab"[d % 2]} for d in range(1, 15)]'


@pytest.mark.parametrize(
    "call",
    [
        'bar(rows=ROWS, x="kind", y="n")',
        'bar(rows=ROWS, x="day", y="n", color="kind", stacked=False, horizontal=True, title="Days")',
        'line(rows=ROWS, x="day", y="n", color="kind", points=True)',
        'area(rows=ROWS, x="day", y="n", color="kind")',
        'scatter(rows=ROWS, x="day", y="n", color="kind", size="n")',
        'pie(rows=ROWS, label="kind", value="n")',
        'histogram(rows=ROWS, x="n", bins=5)',
        'heatmap(rows=ROWS, x="day", y="kind", value="n")',
        'box(rows=ROWS, x="kind", y="n", extent="min-max")',
    ],
)
async def test_the_usual_charts_are_pictures(studio: Studio, call: str) -> None:
    picture = await studio.draw(f"ROWS = {ROWS}\nchart.{call}")

    width, height = size_of(picture)
    assert 300 < width < 900
    assert 300 < height < 900


async def test_a_field_whose_name_has_a_dot_is_drawn_as_that_field(studio: Studio) -> None:
    drawn = await studio.draw('chart.bar(rows=[{"a.b": "x", "n[0]": 4}], x="a.b", y="n[0]")')
    other = await studio.draw('chart.bar(rows=[{"a.b": "x", "n[0]": 0}], x="a.b", y="n[0]")')

    assert drawn != other


async def test_numbers_and_times_of_other_packs_are_drawn_as_such(studio: Studio) -> None:
    command = """
        from datetime import date, timedelta
        from decimal import Decimal
        rows = [{"day": date(2026, 1, 1) + timedelta(days=d), "eur": Decimal(d) / 3} for d in range(9)]
        """
    await studio.app.runner.run(f'{dedent(command)}\nchart.line(rows=rows, x="day", y="eur", output="by-day.svg")\n')
    svg = (studio.folder / "by-day.svg").read_text()

    assert "Jan 03" in svg or "Sat 03" in svg


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("jpg", b"\xff\xd8\xff"), ("pdf", b"%PDF")]
)
async def test_the_ending_of_the_output_says_the_format(studio: Studio, ending: str, begins: bytes) -> None:
    answer = await studio.app.runner.run(f'chart.bar(rows=[{{"a": "x", "n": 1}}], x="a", y="n", output="c.{ending}")')

    file = studio.folder / f"c.{ending}"
    assert not answer.is_error, answer.text
    assert file.read_bytes().startswith(begins)
    assert f"size: {file.stat().st_size}" in answer.text


async def test_another_ending_is_refused_before_anything_is_drawn(studio: Studio) -> None:
    message = await studio.mistake('chart.bar(rows=[{"a": "x", "n": 1}], x="a", y="n", output="c.gif")')

    assert "'c.gif' must end in one of .png, .svg, .jpeg, .pdf" in message


async def test_a_specification_may_be_text_and_has_a_theme_and_a_scale(studio: Studio) -> None:
    spec = '{"width": 100, "height": 100, "mark": "bar", "encoding": {"x": {"field": "a"}}}'
    plain = await studio.draw(f"chart.draw(spec='{spec}', rows=[{{'a': 1}}])")
    double = await studio.draw(f"chart.draw(spec='{spec}', rows=[{{'a': 1}}], scale=2, theme='dark')")

    assert size_of(double) == tuple(2 * side for side in size_of(plain))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('spec={"mark": "barr"}', "spec.mark: 'barr' is not a mark (did you mean 'bar'?)"),
        ('spec={"title": "x"}', "it has none of mark, layer"),
        ('spec="[1]"', "not a JSON object"),
        ('spec="{"', "the specification is not JSON"),
        (
            'spec={"mark": "bar", "encoding": {"x": {"field": "dya"}}}, rows=[{"day": 1}]',
            "spec.encoding.x.field: no row has 'dya' (did you mean 'day'?); the rows have day",
        ),
        ('spec={"mark": "bar"}, rows=[{"a": 1}], theme="drak"', "there is no theme 'drak'; the themes are carbong10"),
        ('spec={"layer": [{"mark": "bar", "data": {"url": "data.csv"}}]}', "spec.layer[0].data.url: a chart loads"),
        ('spec={"mark": "bar", "width": 100000, "height": 100000}, rows=[{"a": 1}]', "more than 40000000 pixels"),
    ],
)
async def test_a_mistake_has_its_place(studio: Studio, arguments: str, reason: str) -> None:
    assert reason in await studio.mistake(f"chart.draw({arguments})")


async def test_a_field_of_the_usual_charts_is_checked_too(studio: Studio) -> None:
    message = await studio.mistake('chart.line(rows=[{"day": 1, "sum": 2}], x="day", y="summ")')

    assert "no row has 'summ' (did you mean 'sum'?)" in message


async def test_letters_that_no_font_has_are_named(studio: Studio) -> None:
    # A private letter, which no font has on any machine.
    call = 'chart.bar(rows=[{"a": "\\U000FFF42", "n": 1}], x="a", y="n"'
    message = await studio.mistake(f"{call})")
    spec = '{"mark": "bar", "encoding": {"x": {"field": "a"}}}'

    assert "no installed font has the letters \U000fff42" in message
    assert "apt install" in message
    await studio.draw(f'chart.draw(spec={spec}, rows=[{{"a": "\\U000FFF42"}}], allow_boxes=True)')


async def test_letters_that_a_font_has_are_drawn(studio: Studio) -> None:
    await studio.draw('chart.bar(rows=[{"a": "\\u03a9", "n": 1}], x="a", y="n")')


@pytest.mark.parametrize(
    "spec",
    [
        '{"mark": "bar", "data": {"url": "file:///etc/passwd", "format": {"type": "csv"}}}',
        '{"mark": "bar", "transform": [{"lookup": "a", "from": {"data": {"url": "http://127.0.0.1:9/"}, "key": "a"}}]}',
        '{"mark": {"type": "image", "url": "http://127.0.0.1:9/a.png"}}',
        '{"mark": "image", "encoding": {"url": {"field": "u"}}}',
        '{"mark": "point", "encoding": {"href": {"field": "u"}}}',
    ],
)
async def test_a_specification_reaches_nothing(studio: Studio, spec: str) -> None:
    message = await studio.mistake(f'chart.draw(spec={spec}, rows=[{{"u": "http://127.0.0.1:9/", "a": 1}}])')

    assert "spec." in message


@pytest.mark.parametrize(
    "spec",
    [
        '{"mark": {"type": "point", "color": "url(http://127.0.0.1:9/a#b)"}}',
        '{"mark": "point", "encoding": {"fill": {"value": "URL( \'http://127.0.0.1:9/a#b\' )"}}}',
        '{"mark": "point", "background": "u\\\\72l(//127.0.0.1:9/a)"}',
        '{"mark": "point", "encoding": {"color": {"field": "u", "type": "nominal", "scale": {"range": ["url(http://127.0.0.1:9/)"]}}}}',
    ],
)
async def test_a_colour_loads_nothing(studio: Studio, spec: str) -> None:
    message = await studio.mistake(f'chart.draw(spec={spec}, rows=[{{"u": "x", "a": 1}}], output="loads.svg")')

    assert "a picture loads nothing" in message
    assert not (studio.folder / "loads.svg").exists()


async def test_words_about_addresses_and_gradients_are_drawn(studio: Studio) -> None:
    stops = '[{"offset": 0, "color": "white"}, {"offset": 1, "color": "green"}]'
    mark = f'{{"type": "bar", "color": {{"gradient": "linear", "stops": {stops}}}}}'
    spec = f'{{"mark": {mark}, "title": "url(http://x) and @import", "encoding": {{"x": {{"field": "u"}}}}}}'

    await studio.draw(f'chart.draw(spec={spec}, rows=[{{"u": "url(http://x)"}}])')


async def test_a_chart_that_failed_does_not_fail_the_next(studio: Studio) -> None:
    bad = '{"mark": "bar", "encoding": {"x": {"field": "a", "type": "nonsense"}}}'
    for _ in range(3):
        assert "Vega-Lite cannot draw this" in await studio.mistake(f'chart.draw(spec={bad}, rows=[{{"a": 1}}])')
        await studio.draw('chart.bar(rows=[{"a": "x", "n": 1}], x="a", y="n")')


async def test_an_endless_chart_ends_with_its_time(studio: Studio) -> None:
    data = {"sequence": {"start": 0, "stop": 1_000_000_000}}
    arguments: Any = {"spec": {"mark": "bar", "data": data, "encoding": {"x": {"field": "data"}}}}

    with pytest.raises(ToolTimeoutError):
        await studio.app.executor.call("chart.draw", arguments, caller=Caller(timeout=1))

    await studio.draw('chart.bar(rows=[{"a": "x", "n": 1}], x="a", y="n")')
