"""Secrets that stand in clear in other clients' files are found, and a reference stays behind."""

from __future__ import annotations

import pytest

from onetool.foreign.secret_values import Vault, is_secret, masked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "ghp_abcdefghijklmnop1234"),
        ("ANYTHING", "sk-proj-abcdefghijklmnop"),
        ("SLACK", "xoxb-123456789-abcdef"),
        ("API_KEY", "letmein"),
        ("apiKey", "letmein1"),
        ("DB_PASSWORD", "hunter22"),
        ("DATABASE_URL", "postgres://ada:hunter2@db/x"),
        ("VALUE", "aZ3kP9xQ7mL2vB8nR5tY"),
        ("AUTH", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"),
    ],
)
def test_this_is_a_secret(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKEN", "${TOKEN}"),
        ("TOKEN", ""),
        ("MAX_TOKENS", "200000"),
        ("AUTH_TYPE", "oauth-device"),
        ("AUTH_URL", "https://example.com/login"),
        ("KEY_FILE", "/home/ada/key.pem"),
        ("PRIVATE_KEY", "~/keys/id.pem"),
        ("LOG_LEVEL", "information"),
        ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("WORKSPACE", "/home/ada/a-very-long-folder-name/with/parts"),
        ("PACKAGE", "modelcontextprotocol-server-everything"),
        ("DEBUG", "true"),
    ],
)
def test_this_is_none(name: str, value: str) -> None:
    assert not is_secret(name, value)


def test_a_value_is_kept_under_its_own_name() -> None:
    vault = Vault({})

    assert vault.hide_value("API_KEY", "abcdefgh", owner="docs") == "${API_KEY}"
    assert vault.added == {"API_KEY": "abcdefgh"}


def test_a_name_that_has_another_value_is_not_used() -> None:
    vault = Vault({"API_KEY": "first-value", "MY_DOCS_API_KEY": "second-value"})

    assert vault.hide_value("API_KEY", "first-value", owner="my docs") == "${API_KEY}"
    assert vault.hide_value("API_KEY", "third-value", owner="my docs") == "${MY_DOCS_API_KEY_2}"
    assert vault.added == {"MY_DOCS_API_KEY_2": "third-value"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Bearer abcdefgh", "Bearer ${DOCS_AUTHORIZATION}"),
        ("Bearer ${DOCS}", "Bearer ${DOCS}"),
        ("abcdefgh", "${DOCS_AUTHORIZATION}"),
    ],
)
def test_the_scheme_of_a_header_stays(value: str, expected: str) -> None:
    assert Vault({}).hide_value("docs_Authorization", value, owner="docs") == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/mcp?page=2", "https://example.com/mcp?page=2"),
        ("https://example.com/mcp?api_key=abcdefgh&page=2", "https://example.com/mcp?api_key=${DOCS_API_KEY}&page=2"),
        ("https://ada:hunter2@example.com", "https://ada:${DOCS_PASSWORD}@example.com"),
    ],
)
def test_an_address_keeps_what_is_no_secret(url: str, expected: str) -> None:
    assert Vault({}).hide_address(url, owner="docs") == expected


def test_a_command_line_keeps_what_is_no_secret() -> None:
    arguments = [
        "-y",
        "pkg",
        "--api-key",
        "abcdefgh",
        "--token=abcdefgi",
        "--port",
        "8080",
        "-e",
        "DB_PASSWORD=hunter22",
    ]

    assert Vault({}).hide_arguments(arguments, owner="db") == [
        "-y", "pkg", "--api-key", "${DB_API_KEY}", "--token=${DB_TOKEN}", "--port", "8080", "-e",
        "DB_PASSWORD=${DB_PASSWORD}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [("letmein1", "***"), ("https://a:hunter2@b/?key=abcdefgh&x=1", "***"), ("https://b/?key=abcdefgh&x=1", "***")],
)
def test_what_is_shown_is_masked(value: str, expected: str) -> None:
    assert masked("token", value) == expected
    assert "abcdefgh" not in masked("url", value)
