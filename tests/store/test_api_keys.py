"""API keys: kept as digests, found by every server, gone when they are revoked."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ot.store.logins import KEYS_FILE, ApiKeys, EmbeddedApiKeys, new_key, split_key
from ot.store.opening import build_backend
from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded
from tests.store.conftest import BOTH, EMBEDDED

NOW = 1_700_000_000.0

pytestmark = pytest.mark.anyio

Open = Callable[[], ApiKeys]


@pytest.fixture(params=BOTH)
def open_keys(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens one and the same keys each time, as a further server or a command would."""
    with ExitStack() as stack:

        def open_postgres() -> ApiKeys:
            backend = build_backend(request.getfixturevalue("database"))
            return stack.enter_context(closing(backend)).build_api_keys(tmp_path)

        yield open_postgres if request.param != EMBEDDED else lambda: EmbeddedApiKeys(tmp_path)


async def test_a_key_that_a_command_makes_is_found_by_a_server_until_it_is_revoked(open_keys: Open) -> None:
    server, command = open_keys(), open_keys()
    first, text = new_key("builder", groups=["dev", "ops"], now=NOW, lifetime=60)
    second, _ = new_key("other", groups=[], now=NOW + 1, lifetime=60)
    key_id, secret = split_key(text)

    assert await server.find(key_id) is None
    command.add(first)
    command.add(second)
    found = await server.find(key_id)

    assert found == first
    assert list(command.entries()) == [first, second]
    assert found.opens_with(secret, now=NOW + 59)
    assert not found.opens_with(secret, now=NOW + 60)
    assert not found.opens_with(secret + "x", now=NOW)
    command.remove(key_id)
    assert await open_keys().find(key_id) is None
    assert list(command.entries()) == [second]


def test_keys_are_made_for_every_line_of_a_file_or_for_none(tmp_path: Path) -> None:
    names = tmp_path / "names"

    def make() -> subprocess.CompletedProcess[str]:
        command = ("keys", "new", "--from", str(names), "--groups", "all")
        return run_preloaded(*command, cwd=tmp_path, env=environment_of(tmp_path))

    names.write_text("# our machines\nbuilder, dev, nightly\n\ndeployer\n,\n")
    refused = make()
    names.write_text("# our machines\nbuilder, dev, nightly\n\ndeployer\n")
    made = make()

    assert refused.returncode == 2
    assert "line 5" in refused.stderr
    rows = [line.split("\t") for line in made.stdout.splitlines()]
    keys = EmbeddedApiKeys(tmp_path / ".onetool" / "state").entries()
    assert [(each.name, set(each.groups)) for each in keys] == [
        ("builder", {"dev", "nightly", "all"}),
        ("deployer", {"all"}),
    ]
    assert [name for name, _ in rows] == ["builder", "deployer"]
    assert [split_key(key)[0] for _, key in rows] == [each.id for each in keys]


@pytest.mark.parametrize("text", ["", "onetool_", "onetool_abc", "onetool_abc_", "abc_def", "onetool__"])
def test_other_text_is_no_key(text: str) -> None:
    assert split_key(text) == ("", "")


def test_the_secret_of_a_key_is_kept_nowhere_and_the_file_is_private(tmp_path: Path) -> None:
    key, text = new_key("builder", groups=[], now=NOW, lifetime=60)
    EmbeddedApiKeys(tmp_path).add(key)

    assert split_key(text)[1] not in (tmp_path / KEYS_FILE).read_text()
    assert stat.S_IMODE((tmp_path / KEYS_FILE).stat().st_mode) == 0o600


async def test_a_file_that_makes_no_sense_opens_nothing_and_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / KEYS_FILE).write_text('{"form": 1, "keys": [1]}')
    keys = EmbeddedApiKeys(tmp_path)

    with pytest.raises(OSError, match="cannot be read"):
        await keys.find("a")
    with pytest.raises(OSError, match="cannot be read"):
        keys.add(new_key("builder", groups=[], now=NOW, lifetime=60)[0])
