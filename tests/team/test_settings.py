"""What people set for themselves on the dashboard of a team's server."""

from __future__ import annotations

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.availability import require_program
from tests.team.browsers import Browsers, form_token
from tests.team.team_server import TeamServer

pytestmark = pytest.mark.xdist_group("team")

SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
VALUE = "the value that nobody sees"


def test_secrets_and_settings_are_kept_in_a_browser_and_no_value_is_shown_again(
    team_dashboard: TeamServer, browsers: Browsers
) -> None:
    ann = browsers.log_in("ann")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=require_program("chromium"), args=SWITCHES)
        context = chromium.new_context(viewport={"width": 400, "height": 800})
        url = team_dashboard.public_url
        context.add_cookies([{"name": each.name, "value": each.value or "", "url": url} for each in ann.cookies.jar])
        page = context.new_page()
        page.goto(url)
        page.get_by_role("link", name="Settings").click()
        page.get_by_label("Name").fill("BRAVE_API_KEY")
        page.get_by_label("Value").fill(VALUE)
        page.keyboard.press("Enter")

        expect(page.get_by_role("status").first).to_have_text("The secret is saved. Your next run can use it.")
        assert VALUE not in page.content()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert "BRAVE_API_KEY" not in browsers.log_in("bob").get("/settings").text

        page.get_by_role("button", name="Remove BRAVE_API_KEY").click()
        expect(page.get_by_role("status").first).to_have_text("The secret is removed.")
        expect(page.get_by_role("button", name="Remove BRAVE_API_KEY")).to_have_count(0)

        page.get_by_role("textbox", name="Settings").fill("aliases:\n  shout: [1]\n")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("line 2: aliases.shout: must be text")
        page.get_by_role("textbox", name="Settings").fill("aliases:\n  shout: demo.upper\n")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").first).to_have_text("Your settings are saved. They apply to your next run.")
        expect(page.get_by_role("textbox", name="Settings")).to_have_value("aliases:\n  shout: demo.upper\n")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        chromium.close()
    assert VALUE not in team_dashboard.log
    for file in team_dashboard.folder.rglob("*"):
        assert not file.is_file() or VALUE.encode() not in file.read_bytes(), file


def test_a_secret_that_cannot_be_kept_is_refused_with_the_reason(browsers: Browsers) -> None:
    ann = browsers.log_in("ann")

    def put(name: str, value: str) -> httpx2.Response:
        return ann.post("/settings/secrets", data={"form_token": form_token(ann), "name": name, "value": value})

    assert "may contain only letters, digits and _" in put("no name", "x").text
    assert "1 to 65,536 characters" in put("EMPTY", "").text
    assert "EMPTY</code>" not in ann.get("/settings").text
    assert "<strong>away</strong> is off until you set <code>AWAY_KEY</code>" in ann.get("/settings").text
    assert ann.post("/settings/secrets", data={"name": "FORGED", "value": "x"}).status_code == 403
