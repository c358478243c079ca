"""The dashboard in a real browser: what a person sees and does there, and who is kept out."""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from tests.e2e.http_server import HttpServer, run_command
from tests.e2e.raw_server import WAIT, RawServer, environment_of
from tests.http_programs import serve_http
from tests.ports import find_free_port
from tests.preloaded import run_preloaded
from tests.proxied import PROGRAMS

pytestmark = pytest.mark.xdist_group("browser")

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"
PAGES = ("/", "/servers", "/extensions", "/results", "/statistics", "/errors", "/audit", "/rules")
WEB = find_free_port()  # where a server listens later
CONFIG = f"""
policy: {{ask: [demo.foo]}}
servers:
  away: {{url: "http://127.0.0.1:9/mcp"}}
  {json.dumps(HOSTILE)}: {{command: "false", enabled: false}}
  web: {{url: "http://127.0.0.1:{WEB}/mcp"}}
  changing: {{command: {sys.executable}, args: [{PROGRAMS / "changing.py"}, starts]}}
"""

HIDDEN_CELLS = """[...document.querySelectorAll("table.left th, table.left td")].filter(
    (cell) => cell.getBoundingClientRect().right > document.documentElement.clientWidth).map((cell) => cell.innerText)"""
"""The cells of tables of words that can be seen only by scrolling."""


class Dashboard:
    """A server, what its person has done, and one browser that is logged in."""

    def __init__(self, server: HttpServer, context: BrowserContext) -> None:
        self.server = server
        self.base = f"http://127.0.0.1:{server.port}"
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def onetool(self, *arguments: str) -> str:
        folder = self.server.folder
        done = run_preloaded(*arguments, cwd=folder, env=environment_of(folder))
        return done.stdout

    def link(self) -> str:
        return self.onetool("dashboard", "--no-browser").splitlines()[-1]

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page

    def ask(self, method: str, path: str, headers: dict[str, str], body: str = "") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT)
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body or None, {**kind, **headers})
        with connection.getresponse() as response:
            text = response.read().decode()
            connection.close()
            return response.status, text

    @property
    def cookie(self) -> dict[str, str]:
        cookies = self.page.context.cookies()
        return {"Cookie": "; ".join(f"{each.get('name')}={each.get('value')}" for each in cookies)}


@pytest.fixture(scope="module")
def dashboard(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    server = HttpServer(tmp_path_factory.mktemp("dashboard"), config=CONFIG)
    with browser.new_context() as context:
        found = Dashboard(server, context)
        found.onetool("run", f"ot.keep(name='rows', value=[{HOSTILE!r}] * 3); demo.upper(text={HOSTILE!r})")
        found.onetool("run", f"raise ValueError({HOSTILE!r})")
        found.page.goto(found.link())
        yield found
    server.raw.end()


def test_the_link_logs_in_once(dashboard: Dashboard) -> None:
    link = dashboard.link().removeprefix(dashboard.base)

    assert dashboard.ask("HEAD", link, {})[0] == 401
    assert dashboard.ask("GET", link, {})[0] == 303
    assert dashboard.ask("GET", link, {})[0] == 401


@pytest.mark.parametrize("path", [*PAGES, "/runs/x", "/results/abcdefghjk", "/nowhere", "/logout"])
def test_nobody_sees_anything_without_a_session(dashboard: Dashboard, path: str) -> None:
    for headers in ({}, {"Cookie": f"onetool-{dashboard.server.port}-session=made-up"}, dashboard.server.headers):
        status, text = dashboard.ask("GET", path, headers)

        assert status == 401
        assert "rows" not in text


def test_another_name_of_this_machine_is_refused(dashboard: Dashboard) -> None:
    assert dashboard.ask("GET", "/", {**dashboard.cookie, "Host": "evil.example"})[0] == 421


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_fits_and_runs_nothing_that_came_from_outside(
    dashboard: Dashboard, path: str, width: int, scheme: str
) -> None:
    dashboard.complaints.clear()
    dashboard.page.set_viewport_size({"width": width, "height": 900})
    dashboard.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")

    page = dashboard.open(path)

    assert page.locator("h1").count() == 1
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(HIDDEN_CELLS) == []
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(21, 23, 26)" if scheme == "dark" else "rgb(244, 241, 234)"
    )
    assert dashboard.complaints == []


def test_hostile_words_are_shown_as_they_are(dashboard: Dashboard) -> None:
    assert HOSTILE in dashboard.open("/servers").locator("main").inner_text()
    dashboard.open("/errors").get_by_role("link", name=re.compile("^r")).first.click()
    assert HOSTILE in dashboard.page.locator("main").inner_text()
    dashboard.open("/results").locator("tbody a").first.click()
    assert "<img src=x onerror=alert(1)>" in dashboard.page.locator("main").inner_text()
    assert dashboard.complaints == []


def test_a_page_is_used_by_keyboard_alone(dashboard: Dashboard) -> None:
    page = dashboard.open("/")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.locator(":focus").get_attribute("id") == "main"

    dashboard.open("/")
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Servers"
    page.keyboard.press("Enter")
    page.wait_for_url("**/servers")


def test_what_is_new_appears_while_the_page_is_open(dashboard: Dashboard) -> None:
    page = dashboard.open("/")

    dashboard.onetool("run", "'a later run'")

    page.get_by_text("'a later run'").wait_for(timeout=WAIT * 1000)


def test_forms_are_taken_from_our_own_pages_only(dashboard: Dashboard) -> None:
    page = dashboard.open("/servers/away")
    token = page.locator("input[name=form_token]").first.get_attribute("value") or ""
    origin = {**dashboard.cookie, "Origin": dashboard.base}
    body = urlencode({"form_token": token})

    for headers, fields in (
        ({**origin, "Origin": "http://evil.example"}, body),
        (dashboard.cookie, body),
        (origin, ""),
        (origin, urlencode({"form_token": "x" * 64})),
    ):
        assert dashboard.ask("POST", "/servers/away/connect", headers, fields)[0] == 403
    assert dashboard.ask("GET", "/servers/away/connect", origin)[0] == 405
    assert dashboard.ask("POST", "/servers/away/connect", origin, body)[0] == 303


def test_a_person_logs_in_to_a_server(dashboard: Dashboard) -> None:
    with serve_http("login", port=WEB):
        page = dashboard.open("/servers/web")
        page.get_by_role("button", name="Log in").click()
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Go to 127.0.0.1").click()
        opened.value.get_by_text("logged in").first.wait_for()
        opened.value.close()

        page.get_by_role("link", name="Back to web").click()

        page.locator("code", has_text="echo").first.wait_for(timeout=WAIT * 1000)
        assert page.get_by_text("connected", exact=True).is_visible()


def test_a_person_accepts_what_a_server_has_changed(dashboard: Dashboard) -> None:
    run_command(dashboard.server.url, dashboard.server.headers, "changing.grow()")
    page = dashboard.open("/servers/changing")
    page.get_by_role("heading", name="Changed since it was accepted").wait_for(timeout=WAIT * 1000)
    assert "grown_0" in page.locator("main").inner_text()

    page.get_by_role("button", name="Accept what is shown").click()

    page.get_by_text("What the server offers now is accepted.").wait_for()
    assert page.get_by_role("heading", name="Changed since it was accepted").count() == 0
    assert dashboard.complaints == []


def test_a_script_that_got_in_would_not_run(dashboard: Dashboard) -> None:
    page = dashboard.open("/")

    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))")

    assert "Live" in page.title()
    dashboard.complaints.clear()


def test_the_code_of_a_run_is_previewed(dashboard: Dashboard) -> None:
    file = dashboard.server.folder / "previewed.txt"
    dashboard.onetool("run", "file.write(path='previewed.txt', content='x')")
    file.unlink()
    find = "[each['run'] for each in ot.runs() if each['command'].startswith('file.write')][-1]"
    page = dashboard.open(f"/runs/{dashboard.onetool('run', find).strip()}")
    page.get_by_role("button", name="Preview this code").click()

    page.get_by_text("nothing was changed. 1 call would be made").wait_for()
    assert not file.exists()


def test_a_run_is_undone_on_its_page(dashboard: Dashboard) -> None:
    made, other = dashboard.server.folder / "made.txt", dashboard.server.folder / "other.txt"
    dashboard.onetool("run", "file.write(path='made.txt', content='x'); file.write(path='other.txt', content='y')")
    listed = json.loads(dashboard.onetool("undo", "--list", "--json"))
    page = dashboard.open(f"/runs/{listed[-1]['run']}")
    page.get_by_role("link", name="Undo this run").click()
    page.get_by_text("remove made.txt").wait_for()
    other.write_text("by hand")  # which the person has not seen
    page.get_by_role("button", name="Undo this run").click()

    page.get_by_text("Something has changed since the page was shown").wait_for()
    assert made.exists()
    page.get_by_role("button", name="Undo the rest").click()
    page.get_by_text("This run has undone the other one").wait_for()
    assert not made.exists()
    assert other.read_text() == "by hand"


def test_whoever_logs_out_is_out(dashboard: Dashboard) -> None:
    page = dashboard.open("/")
    before = dashboard.cookie

    page.get_by_role("button", name="Log out").click()
    page.get_by_text("You are logged out.").wait_for()

    assert dashboard.ask("GET", "/", before)[0] == 401
    page.goto(dashboard.link())
    assert page.get_by_role("heading", name="Live").is_visible()


def begin_asking(dashboard: Dashboard, command: str) -> str:
    """Begin a run of a client without forms that asks, and return its id."""
    told = run_command(dashboard.server.url, dashboard.server.headers, command)
    found = re.search(r"Run (r\w+) is still running", told)
    assert found is not None, told
    assert f"on the dashboard at {dashboard.base}" in told
    return found[1]


def wait_for_run(dashboard: Dashboard, name: str) -> str:
    return run_command(dashboard.server.url, dashboard.server.headers, f"ot.wait(run={name!r}, seconds=45)")


def test_a_question_is_answered_on_the_dashboard(dashboard: Dashboard) -> None:
    name = begin_asking(dashboard, f"demo.foo(text={HOSTILE!r}), demo.foo(text='b')")
    dashboard.complaints.clear()
    for width, scheme in ((1280, "light"), (400, "dark")):
        dashboard.page.set_viewport_size({"width": width, "height": 900})
        dashboard.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        for path in ("/", f"/runs/{name}"):
            page = dashboard.open(path)
            assert page.get_by_role("heading", name="Waiting for you").is_visible()
            assert "demo.foo" in page.get_by_label("Question").inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("button", name="every further call of the same tools in this run").click()

    assert page.get_by_text("The run goes on with your answer.").is_visible()
    answer = wait_for_run(dashboard, name)
    assert "onerror" in answer
    assert "not called" not in answer
    assert dashboard.open("/").get_by_role("heading", name="Waiting for you").count() == 0
    assert dashboard.complaints == []


def test_a_person_ticks_the_calls_that_they_agree_to(dashboard: Dashboard) -> None:
    code = "def attempt(text):\n    try: return demo.foo(text=text)\n    except PermissionError: return 'no'\n"
    name = begin_asking(dashboard, f"{code}'-'.join([attempt('a'), attempt('b')])")
    for width in (1280, 400):
        dashboard.page.set_viewport_size({"width": width, "height": 900})
        page = dashboard.open("/")
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("checkbox", name=re.compile("2\\..*demo.foo")).check()
    page.get_by_role("button", name="Only to those that are ticked").click()

    assert page.get_by_text("The run goes on with your answer.").is_visible()
    assert "no-b" in wait_for_run(dashboard, name)


def test_a_long_question_is_shown_whole(dashboard: Dashboard) -> None:
    name = begin_asking(dashboard, "demo.foo(text='a' * 6000 + 'MIDDLE' + 'b' * 6000)[:1]")
    page = dashboard.open(f"/runs/{name}")
    page.get_by_text("All of it", exact=True).click()
    whole = page.locator("details pre").inner_text()
    page.get_by_role("button", name="Yes, this once").click()

    assert "MIDDLE" in whole
    assert '"a"' in wait_for_run(dashboard, name)


def test_a_no_on_the_dashboard_is_told_to_whoever_comes_later(dashboard: Dashboard) -> None:
    name = begin_asking(dashboard, "demo.foo(text='a')")
    page = dashboard.open("/")
    page.get_by_role("button", name="Pause updates").click()
    with dashboard.page.context.new_page() as other:
        other.goto(dashboard.base + "/")
        other.get_by_role("button", name="No", exact=True).click()
        assert other.get_by_text("The call was refused").is_visible()
    page.get_by_role("button", name="Yes, this once").click()

    assert "Too late" in page.locator("h1").inner_text()
    assert "the answer was no, given on the dashboard" in wait_for_run(dashboard, name)


def test_questions_of_other_servers_of_the_person_are_shown_too(dashboard: Dashboard) -> None:
    server = RawServer(dashboard.server.folder, preloaded=True)
    try:
        server.initialize()
        found = re.search(r"Run (r\w+) is still running", json.dumps(server.run("demo.foo(text='from stdio')")))
        assert found is not None
        page = dashboard.open("/")
        assert "from stdio" in page.get_by_label("Question").inner_text()
        page.get_by_role("button", name="Yes, this once").click()
        assert "from stdio" in json.dumps(server.run(f"ot.wait(run={found[1]!r}, seconds=45)"))
    finally:
        server.end()


def test_rules_are_tried_on_the_calls_of_the_journal(dashboard: Dashboard) -> None:
    page = dashboard.open("/rules")
    page.get_by_label("Ask about").fill("demo.upper\n\n{tool: file.*, more_than: 2}")
    page.get_by_label("Guard flows").fill("web.*>demo.*")
    page.get_by_label("Calls of the last").select_option("1d")
    page.get_by_role("button", name="Try", exact=True).click()

    row = page.get_by_role("row").filter(has_text="demo.upper")
    assert "asked: policy.ask names demo.upper" in row.inner_text()
    assert page.get_by_label("Ask about").input_value() == "demo.upper\n\n{tool: file.*, more_than: 2}"
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(HIDDEN_CELLS) == []


def test_rules_of_a_changed_file_are_tried_instead(dashboard: Dashboard) -> None:
    page = dashboard.open("/rules")
    page.get_by_text("Other rules instead of today's").click()
    page.get_by_label("Content of a configuration file").fill("policy: {deny: [demo.*]}\nlimits: {runs_per_minute: 60}")
    page.get_by_role("button", name="Try", exact=True).click()

    assert page.get_by_role("term").filter(has_text="Limited").count() == 1
    assert "denied: policy.deny names demo.*" in page.get_by_role("row").filter(has_text="demo.upper").inner_text()


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("Ask about", "{tool: a.b, wher: {}}", "wher"),
        ("Deny", "{tool: [", "rule"),
        ("Guard flows", "web.*", "does not have the form FROM>TO"),
    ],
)
def test_a_rule_that_cannot_be_read_is_shown_with_its_mistake(
    dashboard: Dashboard, field: str, text: str, problem: str
) -> None:
    page = dashboard.open("/rules")
    page.get_by_label(field).fill(text)
    page.get_by_role("button", name="Try", exact=True).click()

    assert problem in page.get_by_role("alert").inner_text()
    assert page.get_by_label(field).input_value() == text


def test_older_calls_of_the_audit_log_are_a_page_further(dashboard: Dashboard) -> None:
    dashboard.onetool("run", "for _ in range(105): demo.block(seconds=0)")
    page = dashboard.open("/audit?tool=demo.block")
    newest = page.locator("tbody tr").count()

    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**before=*")
    older = page.locator("tbody tr").count()
    page.get_by_role("link", name="Newest").click()
    page.wait_for_url("**/audit?tool=demo.block")

    assert (newest, older) == (100, 5)
    assert page.locator("tbody tr").count() == 100
