"""The registries that a person's pip, uv and npm are configured with."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ot_packs.package.registries import Registry
from ot_packs.package.settings import read_npm_registries, read_python_indexes
from tests.services.configured import write

ONE, TWO, THREE = (f"https://{name}.example/simple" for name in ("one", "two", "three"))
NOTHING = {"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1"}
NPM = {"npm_config_globalconfig": "/dev/null"}


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("environ", "addresses"),
    [
        ({}, ["https://pypi.org/simple"]),
        ({"PIP_INDEX_URL": f"{ONE}/"}, [ONE]),
        ({"PIP_INDEX_URL": ONE, "PIP_EXTRA_INDEX_URL": f"{TWO}  {THREE}"}, [TWO, THREE, ONE]),
        ({"UV_INDEX_URL": ONE, "UV_EXTRA_INDEX_URL": TWO}, [TWO, ONE]),
        ({"UV_DEFAULT_INDEX": f"own={ONE}", "UV_INDEX": f"{TWO} other={THREE}"}, [TWO, THREE, ONE]),
        ({"PIP_INDEX_URL": ONE, "UV_INDEX_URL": TWO}, [ONE]),
        ({"PIP_EXTRA_INDEX_URL": "file:///srv/simple ssh://x /srv"}, ["https://pypi.org/simple"]),
        ({"PIP_INDEX_URL": "file:///srv/simple"}, []),
        ({"PIP_INDEX_URL": "https://[broken"}, []),
    ],
    ids=str,
)
def test_variables_name_indexes(tmp_path: Path, environ: dict[str, str], addresses: list[str]) -> None:
    indexes = read_python_indexes(tmp_path, NOTHING | environ)

    assert [index.url for index in indexes.asked] == addresses


def test_files_of_pip_and_uv_name_indexes(tmp_path: Path) -> None:
    pip = write(
        tmp_path, ".config/pip/pip.conf", f"[global]\nindex-url = {ONE}\n[install]\nextra_index_url =\n  {TWO}\n"
    )
    uv = write(
        tmp_path,
        ".config/uv/uv.toml",
        f'[[index]]\nurl = "{THREE}"\n[[index]]\nname = "inner"\nurl = "https://inner.example/simple"\nexplicit = true\n',
    )
    system = {"PIP_CONFIG_FILE": str(pip), "UV_CONFIG_FILE": str(uv)}  # what the machine's own files say comes later
    indexes = read_python_indexes(
        tmp_path, {**system, "UV_INDEX_INNER_USERNAME": "me", "UV_INDEX_INNER_PASSWORD": "p/w"}
    )

    assert [(each.url, each.source) for each in indexes.asked][:2] == [(TWO, str(pip)), (THREE, str(uv))]
    assert (indexes.asked[-1].url, indexes.asked[-1].source) == (ONE, str(pip))
    assert indexes.explicit == (Registry("https://inner.example/simple", str(uv), basic("me:p/w"), str(uv)),)
    assert indexes.find("https://inner.example/simple/") == indexes.explicit[0]
    assert indexes.find("https://inner.example.evil.example/simple") is None


def test_a_variable_comes_before_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "pip.conf", f"[global]\nindex-url = {ONE}\n")

    indexes = read_python_indexes(tmp_path, {**NOTHING, "PIP_CONFIG_FILE": str(file), "PIP_INDEX_URL": TWO})

    assert [index.url for index in indexes.asked][-1] == TWO


@pytest.mark.parametrize("text", ["[global", "index-url = x", "\x00\xff", "[global]\nindex-url = 7\n"])
def test_files_that_make_no_sense_count_as_empty(tmp_path: Path, text: str) -> None:
    files = {name: str(write(tmp_path, name, text)) for name in ("PIP_CONFIG_FILE", "UV_CONFIG_FILE", "NETRC")}

    assert read_python_indexes(tmp_path, {**files, "PIP_INDEX_URL": ONE}).asked[-1].url == ONE
    assert read_npm_registries(tmp_path, {"npm_config_userconfig": files["NETRC"]} | NPM).default.url.startswith(
        "https:"
    )


def test_names_and_passwords_come_from_the_address_or_netrc(tmp_path: Path) -> None:
    write(tmp_path, ".netrc", "machine two.example login me password secret\n")
    urls = f"https://user:p%40ss@one.example/simple {TWO}"
    one, two, public = read_python_indexes(tmp_path, {**NOTHING, "PIP_EXTRA_INDEX_URL": urls}).asked

    assert (one.url, one.authorization, one.token_source) == (ONE, basic("user:p@ss"), "PIP_EXTRA_INDEX_URL")
    assert (two.url, two.authorization, two.token_source) == (TWO, basic("me:secret"), str(tmp_path / ".netrc"))
    assert public.authorization == ""


NPMRC = """
; a comment
registry = https://npm.example/all/
@corp:registry=https://corp.example/npm
@none:registry="https://none.example"
//npm.example/all/:_authToken=${TOKEN}
//corp.example/:username=me
//corp.example/:_password=c2VjcmV0
//none.example/:_authToken=${UNSET}
"""


def test_an_npmrc_names_registries_scopes_and_tokens(tmp_path: Path) -> None:
    file = write(tmp_path, ".npmrc", NPMRC)
    npm = read_npm_registries(tmp_path, {**NPM, "TOKEN": "npm_4711"})

    assert npm.of_package("react") == Registry(
        "https://npm.example/all", str(file), "Bearer npm_4711", f"{file} (//npm.example/all/:_authToken)"
    )
    assert npm.of_package("@corp/x").authorization == basic("me:secret")
    assert npm.of_package("@none/x").authorization == ""
    assert "${UNSET} is not set" in npm.of_package("@none/x").token_source
    assert npm.find("https://corp.example/npm/@corp/x/-/x-1.tgz") == npm.of_package("@corp/x")
    assert npm.find("https://corp.example/other") is None


def test_variables_of_npm_come_before_its_files(tmp_path: Path) -> None:
    write(tmp_path, ".npmrc", NPMRC)
    own = write(tmp_path, "own", "//other.example/:_auth=bWU6c2VjcmV0\n")
    environ = {"NPM_CONFIG_REGISTRY": "https://other.example/", "npm_config_userconfig": str(own)}
    npm = read_npm_registries(tmp_path, NPM | environ)

    assert (npm.default.url, npm.default.source) == ("https://other.example", "NPM_CONFIG_REGISTRY")
    assert npm.of_package("@corp/x") == npm.default
    assert npm.default.authorization == basic("me:secret")


def test_the_file_of_the_machine_comes_last(tmp_path: Path) -> None:
    write(tmp_path, ".npmrc", f"prefix={tmp_path}/node\n@corp:registry=https://corp.example\n")
    write(tmp_path, "node/etc/npmrc", "registry=https://machine.example\n@corp:registry=https://other.example\n")
    npm = read_npm_registries(tmp_path, {})

    assert [npm.default.url, npm.of_package("@corp/x").url] == ["https://machine.example", "https://corp.example"]
