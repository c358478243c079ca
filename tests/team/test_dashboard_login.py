"""Logins to the dashboard of a team at a real OpenID provider, and what each person sees there."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pytest

from onetool.dashboard.tickets import LONGEST, Kind, SealedTickets, address_of
from ot.store.logins import FileEndedSessions
from ot.store.sealing import Sealer
from tests.apart import run_apart
from tests.e2e.http_server import run_command
from tests.e2e.raw_server import WAIT, environment_of
from tests.preloaded import run_preloaded
from tests.team.browsers import KEY, Browsers, form_token
from tests.team.oidc.openid_provider import OpenIdProvider
from tests.team.team_server import TeamServer

pytestmark = pytest.mark.xdist_group("team")


def test_a_person_who_logs_in_sees_their_own_runs_only(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    ann, bob = (browsers.log_in(name) for name in ("ann", "bob"))
    run(team_dashboard, openid_provider, "ann", "'only for ann'")

    assert "only for ann" in ann.get("/").text
    assert "only for ann" not in bob.get("/").text
    for path in ("/servers", "/extensions", "/results", "/statistics", "/errors", "/audit"):
        assert bob.get(path).status_code == 200, path
        assert browsers.open().get(path).status_code == 401


def test_a_person_answers_their_own_questions_only(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    ann, bob = (browsers.log_in(name) for name in ("ann", "bob"))
    told = run(team_dashboard, openid_provider, "ann", "demo.bar(text='only for ann')")
    found = re.search(r"Run (r\w+) is still running", told)
    assert found is not None, told
    fields = {"question": "1", "answer": "once"}
    before = ann.get("/").text
    refused = bob.post(f"/runs/{found[1]}/answer", data={**fields, "form_token": form_token(bob)})
    forged = ann.post(f"/runs/{found[1]}/answer", data={**fields, "form_token": "wrong"})
    still = ann.get(f"/runs/{found[1]}").text
    given = ann.post(f"/runs/{found[1]}/answer", data={**fields, "form_token": form_token(ann)})

    assert f"on the dashboard at {team_dashboard.public_url}" in told
    assert "approve" not in told
    assert "Waiting for you" in before
    assert "Waiting for you" not in bob.get("/").text
    assert (refused.status_code, forged.status_code) == (409, 403)
    assert "Waiting for you" in still
    assert given.headers["location"] == "/?done=answered"
    waited = run(team_dashboard, openid_provider, "ann", f"ot.wait(run={found[1]!r}, seconds=45)")
    assert "only for ann" in waited


def run(server: TeamServer, provider: OpenIdProvider, name: str, command: str) -> str:
    """Have a person's client run something."""
    return run_command(server.url, {"Authorization": f"Bearer {provider.token(name, resource=server.url)}"}, command)


def test_an_answer_is_worth_something_only_in_the_browser_that_began(
    openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    browser, other = browsers.open(), browsers.open()
    back = openid_provider.login(browser.get("/login").headers["location"], "ann")
    forged = urlunsplit(urlsplit(back)._replace(query="state=made-up&code=x"))

    assert other.get(back).status_code == 401
    other.get("/login")
    assert other.get(back).status_code == 401
    assert browser.get(forged).status_code == 401
    assert browser.get("/").status_code == 401


def test_the_login_asks_for_a_code_with_pkce_state_and_nonce(browsers: Browsers) -> None:
    sent = parse_qs(urlsplit(browsers.open().get("/login").headers["location"]).query)

    assert sent["response_type"] == ["code"]
    assert sent["code_challenge_method"] == ["S256"]
    assert len(sent["state"][0]) > 30
    assert len(sent["nonce"][0]) > 30


def test_logging_out_takes_the_form_of_the_session(browsers: Browsers) -> None:
    browser = browsers.log_in("ann")

    assert browser.post("/logout", data={"form_token": "wrong"}).status_code == 403
    token = browser.get("/").text.partition('name="form_token" value="')[2].partition('"')[0]
    copied = dict(browser.cookies)
    assert browser.post("/logout", data={"form_token": token}).status_code == 200
    assert browser.get("/").status_code == 401
    assert browsers.open(copied).get("/").status_code == 401


def test_the_issuer_is_asked_again_who_somebody_is_while_they_are_logged_in(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers, tmp_path: Path
) -> None:
    browser = browsers.log_in("carl")
    carl: Any = {"issuer": openid_provider.issuer, "subject": "carl", "name": "carl", "groups": []}
    seconds_ago = SealedTickets(lambda: Sealer([KEY]), FileEndedSessions(tmp_path), clock=lambda: time.time() - 2000)
    session = run_apart(partial(seconds_ago.issue, Kind.SESSION, carl, seconds=LONGEST))
    browser.cookies.set(address_of(team_dashboard.public_url, ()).cookie_name("session"), session, domain="127.0.0.1")
    openid_provider.token("carl", resource=team_dashboard.url, groups=["ops"])
    assert browser.get("/people?live=1").status_code == 404

    sent = browser.get("/results?project=all")
    back = browser.get(openid_provider.login(sent.headers["location"], "carl"))

    assert back.headers["location"] == "/results?project=all"
    assert browser.get("/people").status_code == 200


def test_people_are_listed_for_those_who_look_after_the_server(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    openid_provider.token("olga", resource=team_dashboard.url, groups=["ops"])
    nora = browsers.log_in("nora")
    assert nora.get("/people").status_code == 404
    assert "People" not in nora.get("/").text

    listed = browsers.log_in("olga").get("/people")

    assert listed.status_code == 200
    assert "nora" in listed.text


def test_calls_of_everybody_are_audited_by_those_who_look_after_the_server(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    for name in ("nora", "bob"):
        run(team_dashboard, openid_provider, name, f"demo.block(seconds=0, path='a-value-of-{name}')")
    openid_provider.token("olga", resource=team_dashboard.url, groups=["ops"])
    olga = browsers.log_in("olga")
    assert browsers.log_in("nora").get("/people/audit").status_code == 404

    everybody, of_bob = (olga.get("/people/audit", params={"person": who}).text for who in ("", "bob"))

    rows = re.findall(r'<th scope="row">(\w+) .*<code>demo.block</code>', everybody)
    assert sorted(rows) == ["bob", "nora"]
    assert re.findall(r'<th scope="row">(\w+) ', of_bob) == ["bob"]
    assert "a-value" not in everybody
    assert "demo.block" not in olga.get("/people/audit", params={"day": "2020-02-29"}).text
    listed = run_preloaded("audit", "--all", cwd=team_dashboard.folder, env=environment_of(team_dashboard.folder))
    assert [line.count("demo.block") for line in listed.stdout.splitlines()] == [0, 1, 1]
    assert f'["{openid_provider.issuer}","nora"]' in listed.stdout


def test_what_everybody_uses_is_added_up_for_those_who_look_after_the_server(
    team_dashboard: TeamServer, openid_provider: OpenIdProvider, browsers: Browsers
) -> None:
    run(team_dashboard, openid_provider, "dora", "demo.upper(text='a-value-of-dora')")
    openid_provider.token("olga", resource=team_dashboard.url, groups=["ops"])
    olga, dora = browsers.log_in("olga"), browsers.log_in("dora")
    assert dora.get("/people/statistics").status_code == 404

    row = r'<th scope="row">dora \(.*?</th><td>1</td><td>0</td><td>1</td><td>0</td><td class="wide">demo: 1<'
    deadline = time.monotonic() + WAIT
    while re.search(row, shown := olga.get("/people/statistics?period=day").text) is None:
        assert time.monotonic() < deadline, shown
    assert "a-value" not in shown
