"""Resources and prompts of servers: listed together, read by their address, filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.errors import ToolError
from ot.proxy.resources import fill_prompt, list_prompts, list_resources, read_resource
from tests.proxied import open_proxied, program

pytestmark = pytest.mark.anyio

WAY_OUT = "install it, or give its full path"


async def test_resources_of_all_servers_are_listed_with_patterns(notes_server: dict[str, str], tmp_path: Path) -> None:
    servers = {"notes": notes_server, "plain": program("plain_server"), "gone": {"command": "no-such-program-anywhere"}}

    async with open_proxied(tmp_path, servers) as proxied:
        found = await list_resources(proxied.servers)

    assert [(each["server"], each.get("uri") or each.get("uri_template") or each["error"]) for each in found] == [
        ("notes", "notes://today"),
        ("notes", "notes://{day}/all"),
        ("gone", f"cannot be started: not found: no-such-program-anywhere; {WAY_OUT} under servers.gone"),
    ]


async def test_a_list_says_which_servers_could_not_be_asked_and_waits_for_none_of_them(
    notes_server: dict[str, str], tmp_path: Path
) -> None:
    servers = {"notes": notes_server, "mute": program("silent"), "gone": {"command": "/nowhere/at/all"}}

    async with open_proxied(tmp_path, servers) as proxied:
        found = await list_resources(proxied.servers, patience=5)

    assert {item["server"] for item in found if "uri" in item} == {"notes"}
    errors = {str(item["server"]): item["error"] for item in found if "error" in item}
    assert sorted(errors) == ["gone", "mute"]
    assert errors["mute"] == "it did not answer within 5 s"
    assert errors["gone"] == "cannot be started: not found: /nowhere/at/all; correct its path under servers.gone"


@pytest.mark.parametrize(("uri", "text"), [("notes://today", "buy milk"), ("notes://monday/all", "notes of monday")])
async def test_a_resource_is_read_from_whoever_has_it(
    notes_server: dict[str, str], tmp_path: Path, uri: str, text: str
) -> None:
    async with open_proxied(tmp_path, {"notes": notes_server, "plain": program("plain_server")}) as proxied:
        assert await read_resource(proxied.servers, uri) == text
        assert await read_resource(proxied.servers, uri, "notes") == text


async def test_a_resource_that_nobody_has_is_an_error_that_says_who_was_asked(
    notes_server: dict[str, str], tmp_path: Path
) -> None:
    async with open_proxied(tmp_path, {"notes": notes_server, "plain": program("plain_server")}) as proxied:
        with pytest.raises(ToolError, match=r"'notes://nowhere' cannot be read \(notes: .*ot\.resources\(\)"):
            await read_resource(proxied.servers, "notes://nowhere")
        with pytest.raises(ToolError, match="Servers: notes, plain"):
            await read_resource(proxied.servers, "notes://today", "elsewhere")


async def test_prompts_are_listed_and_filled_in(notes_server: dict[str, str], tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"notes": notes_server}) as proxied:
        listed = await list_prompts(proxied.servers)
        filled = await fill_prompt(proxied.servers, "greet", {"name": "Ada"})
        with pytest.raises(ToolError, match="Prompts: greet"):
            await fill_prompt(proxied.servers, "meet", {})

    assert [(each["server"], each["name"]) for each in listed] == [("notes", "greet")]
    assert listed[0]["arguments"] == [{"name": "name", "required": True}]
    assert filled == [{"role": "user", "content": "Greet Ada."}]


async def test_one_that_is_against_the_protocol_hides_no_other(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"odd": program("against_protocol")}) as proxied:
        prompts = await list_prompts(proxied.servers)
        found = await list_resources(proxied.servers)

    assert [each["name"] for each in prompts] == ["first", "last"]
    addresses = [each.get("uri") or each.get("uri_template") for each in found]
    assert addresses == ["notes://first", "notes://last", "notes://{day}/all"]
