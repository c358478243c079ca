"""Tasks on an issue tracker: the GitHub server, whose requests a recording answers instead of api.github.com."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qs, urlsplit

from bench.tasks.local_http import serve_http
from bench.tasks.task import DirectCalls, Runs, Task
from mcp_core.json_types import JsonObject
from tests.reference_servers.servers import ServerCommand, reference_server

OWNER, REPO = "lantern", "shop"


class _Label(TypedDict):
    """A label as GitHub's API shows it, as far as the task reads it."""

    name: str


class _Issue(TypedDict):
    """An issue as it was recorded; in an answer of the API its labels are objects."""

    number: int
    title: str
    user: str
    labels: list[str | _Label]
    state: str
    comments: int
    created_at: str
    updated_at: str
    closed_at: str | None
    body: str


_RECORDED: list[_Issue] = json.loads(Path(__file__).with_name("recorded_issues.json").read_text())
_REDIRECT = Path(__file__).with_name("redirect_github.cjs")


@contextmanager
def open_issues(folder: Path) -> Iterator[ServerCommand]:
    """The server from npm, as it is; a module that Node loads first sends its requests to the recording."""
    with serve_http(_Recording) as address:
        server = reference_server("github", folder)
        yield ServerCommand(
            server.command, ("--require", str(_REDIRECT), *server.args), {**server.env, "RECORDED_GITHUB": address}
        )


def still_open(numbers: list[int]) -> str:
    return ", ".join(f"#{issue['number']}" for issue in _RECORDED if issue["number"] in numbers and _is_open(issue))


def _is_open(issue: _Issue) -> bool:
    return issue["state"] == "open"


class _Recording(BaseHTTPRequestHandler):
    """As much of GitHub's API as the tasks ask for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        collection, _, number = address.path.removeprefix(f"/repos/{OWNER}/{REPO}/").partition("/")
        if collection != "issues":
            return self._reply(404, {"message": "Not Found"})
        if number:
            return self._reply(
                200, next(_as_github_tells_it(each) for each in _RECORDED if str(each["number"]) == number)
            )
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        found = [issue for issue in reversed(_RECORDED) if asked.get("state", "open") in (issue["state"], "all")]
        size, page = int(asked.get("per_page", "30")), int(asked.get("page", "1"))
        return self._reply(200, [_as_github_tells_it(issue) for issue in found[(page - 1) * size : page * size]])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the standard library
        """Nobody reads a log."""

    def _reply(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json; charset=utf-8")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _as_github_tells_it(issue: _Issue) -> JsonObject:
    """With all the addresses that GitHub's API adds to what people wrote."""
    repository = f"https://api.github.com/repos/{OWNER}/{REPO}"
    address, number = f"{repository}/issues/{issue['number']}", issue["number"]
    return {
        "url": address,
        "repository_url": repository,
        "labels_url": f"{address}/labels{{/name}}",
        "comments_url": f"{address}/comments",
        "events_url": f"{address}/events",
        "html_url": f"https://github.com/{OWNER}/{REPO}/issues/{number}",
        "id": 2_100_000_000 + 7919 * number,
        "node_id": f"I_kwDOHs{number:04}c59Ql{number:04}",
        "number": number,
        "title": issue["title"],
        "user": _user(issue["user"]),
        "labels": [_label(repository, _name_of(label)) for label in issue["labels"]],
        "state": issue["state"],
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": issue["comments"],
        "created_at": issue["created_at"],
        "updated_at": issue["updated_at"],
        "closed_at": issue["closed_at"],
        "author_association": "NONE",
        "active_lock_reason": None,
        "body": issue["body"],
        "closed_by": None,
        "reactions": _reactions(address),
        "timeline_url": f"{address}/timeline",
        "performed_via_github_app": None,
        "state_reason": None if _is_open(issue) else "completed",
    }


def _user(login: str) -> JsonObject:
    address = f"https://api.github.com/users/{login}"
    number = sum(map(ord, login)) * 997
    return {
        "login": login,
        "id": number,
        "node_id": f"MDQ6VXNlcj{number}",
        "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4",
        "gravatar_id": "",
        "url": address,
        "html_url": f"https://github.com/{login}",
        "followers_url": f"{address}/followers",
        "following_url": f"{address}/following{{/other_user}}",
        "gists_url": f"{address}/gists{{/gist_id}}",
        "starred_url": f"{address}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{address}/subscriptions",
        "organizations_url": f"{address}/orgs",
        "repos_url": f"{address}/repos",
        "events_url": f"{address}/events{{/privacy}}",
        "received_events_url": f"{address}/received_events",
        "type": "User",
        "user_view_type": "public",
        "site_admin": False,
    }


def _label(repository: str, name: str) -> JsonObject:
    number = 5_000_000_000 + sum(map(ord, name)) * 31
    return {
        "id": number,
        "node_id": f"LA_kwDOHs{number}",
        "url": f"{repository}/labels/{name}",
        "name": name,
        "color": "d73a4a",
        "default": False,
        "description": f"About {name}",
    }


def _reactions(address: str) -> JsonObject:
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{address}/reactions", "total_count": 0, **dict.fromkeys(kinds, 0)}


def _name_of(label: str | _Label) -> str:
    return label if isinstance(label, str) else label["name"]


def _by_label(issues: list[_Issue]) -> str:
    """How many issues each label has, and the oldest of them."""
    numbers: dict[str, list[int]] = {}
    for issue in issues:
        for label in issue["labels"]:
            numbers.setdefault(_name_of(label), []).append(issue["number"])
    return ", ".join(f"{label}: {len(found)}, oldest #{min(found)}" for label, found in sorted(numbers.items()))


_ALL_OPEN = {"owner": OWNER, "repo": REPO, "state": "open", "per_page": 100}


async def _labels_directly(servers: DirectCalls) -> str:
    [text] = await servers.call(("github", "list_issues", _ALL_OPEN))
    return _by_label(json.loads(text))


async def _labels_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="list the open issues of a GitHub repository")')
    await onetool.fail(
        f'[issue["title"] for issue in github.list_issues(owner="{OWNER}", repo="{REPO}", state="open", per_page=100)]'
    )
    return await onetool.run(
        f"""import json
numbers = {{}}
for issue in json.loads(github.list_issues(owner="{OWNER}", repo="{REPO}", state="open", per_page=100)):
    for label in issue["labels"]:
        numbers.setdefault(label["name"], []).append(issue["number"])
", ".join(f"{{label}}: {{len(found)}}, oldest #{{min(found)}}" for label, found in sorted(numbers.items()))"""
    )


TASKS = (
    Task(
        name="issues: how many open with each label",
        question=f"How many open issues of {OWNER}/{REPO} has each label, and which is the oldest of each?",
        servers=("github",),
        expected=_by_label([issue for issue in _RECORDED if _is_open(issue)]),
        direct=_labels_directly,
        through_run=_labels_through_run,
    ),
)
