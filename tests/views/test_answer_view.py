"""The view of an answer, in a browser, with a host made of the official AppBridge and the official client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise
from playwright.sync_api import Browser, FrameLocator, Locator, expect

from tests.longer import long_after
from tests.views.view_host import ANSWER, PAGE, VIEWS, ViewHost, bundle_host, open_host, serving

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),  # both eras are tested
]

WAIT = 60_000  # milliseconds: a bound for a machine that is busy
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
CONFIG = {
    "results": {"inline_limit": 4000},
    "execution": {"patience": 3},
    "policy": {"ask": ["file.delete"]},
    "packs": {"file": {"enabled": True}},
}
expect.set_options(timeout=WAIT)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(bundle_host(tmp_path_factory.mktemp("host"))) as served:
        yield served


@pytest.fixture(scope="module", params=long_after(1, ["auto", "legacy"]), ids=["sessionless", "with a session"])
def host(
    request: pytest.FixtureRequest, address: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ViewHost]:
    folder = tmp_path_factory.mktemp("home")
    with (
        browser.new_context(viewport={"width": 800, "height": 700}) as context,
        open_host(context, address, folder, CONFIG, mode=request.param) as opened,
    ):
        opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield opened
        assert opened.requests == []  # nothing was loaded from anywhere


def rows(count: int) -> str:
    return f"[{{'name': f'row {{n}}', 'size': n * 7919 % 1000, 'note': None}} for n in range({count})]"


def cells(view: FrameLocator, column: int) -> Locator:
    return view.locator(f"tbody td:nth-child({column})")


def test_rows_are_a_table_that_sorts_filters_and_copies(host: ViewHost) -> None:
    view = host.show(rows(40))
    head = view.get_by_role("columnheader", name="size")

    expect(view.get_by_role("table", name="40 rows")).to_be_visible()
    expect(cells(view, 1)).to_have_count(40)
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(cells(view, 2).first).to_have_text("0")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(cells(view, 2).first).to_have_text("975")
    view.get_by_role("searchbox", name="Filter").fill("row 13")
    expect(cells(view, 1)).to_have_text(["row 13"])
    view.get_by_role("button", name="Copy", exact=True).click()
    expect(view.get_by_text("Copied.")).to_be_attached()
    assert host.page.evaluate("navigator.clipboard.readText()") == "name\tsize\tnote\nrow 13\t947\t"


def test_rows_that_were_stored_are_fetched_as_they_are_wanted(host: ViewHost) -> None:
    view = host.show(rows(900))

    expect(view.get_by_text("of 900 rows")).to_be_visible()
    view.get_by_role("button", name="Show more").click()
    view.get_by_role("button", name="Show more").click()
    expect(cells(view, 1)).to_have_count(900)
    expect(view.get_by_role("button", name="Show more")).to_be_hidden()
    expect(cells(view, 1).last).to_have_text("row 899")


def test_a_long_text_is_read_page_by_page(host: ViewHost) -> None:
    view = host.show("'\\n'.join(f'line {n} of a text' for n in range(3000))")

    expect(view.get_by_text("1–100 of 3,000 lines")).to_be_visible()
    view.get_by_role("button", name="Next").click()
    expect(view.get_by_text("101–200 of 3,000 lines")).to_be_visible()
    view.get_by_role("searchbox", name="Find lines").fill("line 29.0 of")
    view.get_by_role("searchbox", name="Find lines").press("Enter")
    expect(view.get_by_text("1–10 of 10 that match, of 3,000 lines")).to_be_visible()
    expect(view.get_by_text("line 2950 of a text")).to_be_visible()


def test_differences_pictures_and_errors_look_like_what_they_are(host: ViewHost) -> None:
    view = host.show("'--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-one\\n+two'")
    expect(view.get_by_role("deletion")).to_have_text("-one")
    expect(view.get_by_role("insertion")).to_have_text("+two")

    view = host.show("demo.picture()")
    picture = view.get_by_role("img", name="Picture")
    expect(picture).to_have_js_property("complete", value=True)
    assert picture.evaluate("each => [each.width, each.height]") == picture.evaluate(
        "each => [each.naturalWidth, each.naturalHeight]"
    )

    view = host.show("1/0")
    expect(view.get_by_label("What went wrong").first).to_contain_text("ZeroDivisionError")


def test_what_code_gives_is_shown_as_text_and_does_nothing(host: ViewHost) -> None:
    host.page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))

    view = host.show(f"[{{{HOSTILE!r}: {HOSTILE!r}}}] * 2")
    expect(cells(view, 1).first).to_have_text(HOSTILE)
    view = host.show(f"print({HOSTILE!r})\n{HOSTILE!r}")

    expect(view.get_by_text(HOSTILE).first).to_be_visible()
    assert view.locator("img, iframe").count() == 0


def test_a_run_that_goes_on_shows_what_it_does_and_then_its_answer(host: ViewHost, tmp_path: Path) -> None:
    go = tmp_path / "go"
    code = f"import os, time\nwhile not os.path.exists({str(go)!r}): demo.sleep(seconds=0.1)\n[{{'it is': 'over'}}]"

    view = host.show(code)

    expect(view.get_by_text("Running for")).to_be_visible()
    expect(view.get_by_text("demo.sleep").first).to_be_visible()
    go.touch()
    expect(view.get_by_role("cell", name="over")).to_be_visible()


PREVIEWED = (
    "ot.preview()\nfor name in 'abc':\n    try: file.delete(path=f'{name}.txt')\n    except PermissionError: pass"
)


def previewed(host: ViewHost, *, theme: str = "light") -> tuple[FrameLocator, Path]:
    folder = host.folder
    for name in "abc":
        (folder / f"{name}.txt").write_text(name)
    host.person.asked.clear()
    return host.show(PREVIEWED, theme=theme), folder


def left_in(folder: Path) -> str:
    return "".join(sorted(file.stem for file in folder.glob("?.txt")))


def test_only_the_ticked_calls_of_a_preview_are_made_and_the_person_is_asked_as_ever(host: ViewHost) -> None:
    view, folder = previewed(host)
    expect(view.get_by_role("checkbox")).to_have_count(3)
    view.get_by_role("checkbox", name="2. file.delete").uncheck()

    view.get_by_role("button", name="Make those ticked").click()

    expect(view.get_by_text("Done.")).to_be_visible()
    assert left_in(folder) == "b"
    assert host.person.asked
    assert any(kind == "update-model-context" for kind, _ in host.heard)  # the model hears what became of it


def test_a_button_is_nobodys_consent(host: ViewHost) -> None:
    view, folder = previewed(host)
    host.person.agrees = False
    try:
        view.get_by_role("button", name="Make all").click()
        expect(view.get_by_role("button", name="Make all")).to_have_count(0)
    finally:
        host.person.agrees = True

    assert host.person.asked
    assert left_in(folder) == "abc"


def test_none_of_a_preview_is_made(host: ViewHost) -> None:
    view, folder = previewed(host)

    view.get_by_role("button", name="Make none").press("Enter")

    expect(view.get_by_text("None of these calls is made.")).to_be_visible()
    assert left_in(folder) == "abc"
    assert host.person.asked == []
    assert [kind for kind, _ in host.heard] == ["update-model-context"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_follows_the_theme_and_everything_has_a_name(host: ViewHost, theme: str) -> None:
    view = host.show(rows(3), theme=theme)
    expect(view.get_by_role("table")).to_be_visible()

    assert view.locator("html").evaluate("each => getComputedStyle(each).colorScheme") == theme
    assert view.locator("main").get_attribute("aria-busy") == "false"
    unnamed = "each => [...each.querySelectorAll('button, input')].filter(one => !(one.labels?.length || one.textContent)).length"
    assert view.locator("body").evaluate(unnamed) == 0


def shown(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["_meta"][ANSWER]
    return found


def test_a_handle_is_good_for_its_own_answer_and_client_only(
    host: ViewHost, address: str, browser: Browser, tmp_path: Path
) -> None:
    stored, other = shown(host.run(rows(400))), shown(host.run("1"))

    def page(handle: str, ask: str = "page", **options: Any) -> dict[str, Any]:
        return host.call("view", {"handle": handle, "ask": ask, "options": options})

    assert shown(page(stored["handle"]))["page"]["total_lines"] == 400
    assert page(other["handle"])["isError"]  # nothing was stored of that answer
    assert page(stored["handle"], "apply")["isError"]  # it is no preview
    assert page(stored["handle"], "call", name="x")["isError"]  # nor a view of a server
    said, _, code = stored["handle"].partition(".")
    for forged in (f"{said}.{'0' * len(code)}", f"{said[:-1]}A.{code}", "", "x", "é.x", "x" * 10_000):
        assert "Unknown or expired handle" in page(forged)["error"]
    assert "A view asks" in page(stored["handle"], "run")["error"]

    with browser.new_context() as context, open_host(context, address, host.folder, CONFIG, name="other") as foreign:
        refused = foreign.call("view", {"handle": stored["handle"], "ask": "page"})
        assert "Unknown or expired handle" in refused["error"]


@pytest.mark.parametrize("mode", long_after(1, ["auto", "legacy"]))
def test_other_clients_see_nothing_of_it(mode: str, address: str, browser: Browser, tmp_path: Path) -> None:
    other = advertise(VIEWS, {"mimeTypes": [PAGE.replace("mcp-app", "other")]})
    for extensions in ([], [other]):
        with (
            browser.new_context() as context,
            open_host(context, address, tmp_path, CONFIG, mode=mode, extensions=extensions) as plain,
        ):
            result = plain.run("[{'a': 1}]")
            tools = plain.portal.call(plain.client.list_tools).model_dump(by_alias=True, exclude_none=True)["tools"]

            assert ANSWER not in result.get("_meta", {})
            assert [(tool["name"], "_meta" in tool) for tool in tools] == [("run", False)]
            assert "Unknown tool: view" in plain.call("view", {"handle": "x", "ask": "page"})["error"]
            assert "ui://onetool/answer" in plain.read("ui://onetool/answer")["error"]
            assert "extensions" not in str(plain.client.server_capabilities) or VIEWS not in str(
                plain.client.server_capabilities
            )


def test_those_who_show_views_see_one_more_tool_for_views_only(host: ViewHost) -> None:
    tools = host.portal.call(host.client.list_tools).model_dump(by_alias=True, exclude_none=True)["tools"]

    assert {tool["name"]: tool["_meta"]["ui"] for tool in tools} == {
        "run": {"resourceUri": "ui://onetool/answer", "visibility": ["model"]},
        "view": {"visibility": ["app"]},
    }
    assert "structuredContent" not in host.run(rows(3))
