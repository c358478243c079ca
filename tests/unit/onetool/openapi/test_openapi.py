"""A pack made from an OpenAPI description: readable, checked, and true to the service behind it."""

from __future__ import annotations

import ast
import base64
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ot_sdk
from onetool.openapi.description import Description, DescriptionError, read_description
from onetool.openapi.pack import build_pack, name_pack
from onetool.openapi.types import OF_THE_FILE
from ot.registry.from_source import parse_pack
from tests.properties import unhurried

PETS = Path(__file__).parents[3] / "programs" / "pet_store.yaml"
PLAIN = {"openapi": "3.1.0", "info": {"title": "x"}, "paths": {"/a": {"get": {"responses": {}}}}}


class Service(BaseHTTPRequestHandler):
    """Answers as it was told to, and keeps what it was asked."""

    asked: dict[str, Any]
    answer: tuple[int, str, bytes]

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        facts = {"method": self.command, "path": self.path, "headers": dict(self.headers)}
        type(self).asked = {**facts, "body": self.rfile.read(length)}
        status, kind, content = self.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(scope="module")
def source() -> str:
    return build_pack(read_description(PETS), "pet_store", []).text


@pytest.fixture
def pets(source: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("PET_STORE_API_KEY", "k1")
    monkeypatch.setenv("PET_STORE_LOGIN", "ada:secret")
    file = tmp_path / "pet_store_tools.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("pet_store_tools", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BASE_URL", address)
    Service.answer = (200, "application/json; charset=utf-8", b'[{"id": 1, "name": "Rex"}]')
    return module


def test_every_operation_is_a_typed_function(source: str) -> None:
    tools = parse_pack(source.encode(), PETS).tools

    assert list(tools) == [
        "list_pets",
        "list_pets_2",
        "get_pets_pet_id",
        "delete",
        "photo",
        "put_photo",
        "tree",
        "upload",
    ]
    signature = tools["list_pets_2"].signature
    assert 'body: {name: str, kind?: Literal["dog", "cat"], nick?: str | None}' in signature.replace("'", '"')
    assert tools["list_pets"].effect == "reads"
    assert tools["list_pets"].secrets == ("PET_STORE_API_KEY", "PET_STORE_LOGIN")
    assert tools["list_pets"].docs.arguments["limit"] == "At most so many"
    assert tools["get_pets_pet_id"].description == 'One pet """ + __import__("os").system("x") + """ \\'


def test_the_same_description_gives_the_same_file(source: str) -> None:
    assert build_pack(read_description(PETS), "pet_store", []).text == source


@pytest.mark.long
def test_the_file_passes_ruff_and_mypy(source: str, tmp_path: Path) -> None:
    file = tmp_path / "pet_store_tools.py"
    file.write_text(source)

    for words in (
        ["ruff", "check", "--isolated"],
        ["mypy", "--strict", "--follow-imports=skip", "--allow-untyped-decorators", "--config-file="],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *words, file], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout


def test_a_request_has_everything_where_the_description_says(pets: ModuleType) -> None:
    found = pets.list_pets(limit=2, kind=["dog", "cat"], x_trace="t", from_="a b", filter={"age": 3})

    assert found == [{"id": 1, "name": "Rex"}]
    assert Service.asked["path"] == "/v1/pets?limit=2&kind=dog&kind=cat&from=a+b&filter%5Bage%5D=3"
    headers = Service.asked["headers"]
    assert (headers["X-Trace"], headers["X-Key"]) == ("t", "k1")


def test_a_body_is_sent_as_the_description_says(pets: ModuleType) -> None:
    pets.list_pets_2(body={"name": "Rex"})
    assert json.loads(Service.asked["body"]) == {"name": "Rex"}
    assert Service.asked["headers"]["Content-Type"] == "application/json"

    pets.put_photo(pet_id="7", body=b"\x00\x01")
    assert (Service.asked["method"], Service.asked["body"]) == ("PUT", b"\x00\x01")

    Service.answer = (200, "text/plain", b"stored")
    assert pets.upload(body={"file": b"\x89PNG", "note": "hi"}) == "stored"
    assert b"\x89PNG" in Service.asked["body"]
    assert Service.asked["headers"]["Content-Type"].startswith("multipart/form-data")


def test_an_answer_is_what_its_type_says(pets: ModuleType) -> None:
    Service.answer = (200, "image/png", b"\x89PNG")
    assert pets.photo(pet_id="7") == ot_sdk.Image(b"\x89PNG", "image/png")
    assert "X-Key" not in Service.asked["headers"]

    Service.answer = (204, "text/plain", b"")
    assert pets.delete(pet_id="7") is None
    assert Service.asked["headers"]["Authorization"] == f"Basic {base64.b64encode(b'ada:secret').decode()}"


def test_a_failure_is_told_with_its_status_and_body(pets: ModuleType) -> None:
    Service.answer = (422, "application/json", b'{"detail": "no such kind"}')

    with pytest.raises(ot_sdk.ToolError, match=r'^GET /pets: 422 .*: \{"detail": "no such kind"\}$'):
        pets.list_pets()


@pytest.mark.parametrize("part", ["", ".", ".."])
def test_a_part_of_an_address_leads_nowhere_else(pets: ModuleType, part: str) -> None:
    with pytest.raises(ot_sdk.ToolError, match="petId cannot be"):
        pets.get_pets_pet_id(pet_id=part)


def test_a_part_of_an_address_is_quoted(pets: ModuleType) -> None:
    Service.answer = (200, "application/json", b"{}")
    pets.get_pets_pet_id(pet_id="a/../{petId}?x=1")

    assert Service.asked["path"] == "/v1/pets/a%2F..%2F%7BpetId%7D%3Fx%3D1"


def test_without_its_secret_it_says_which(pets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PET_STORE_API_KEY")

    with pytest.raises(ot_sdk.ToolError, match="PET_STORE_API_KEY is not set"):
        pets.list_pets()


@pytest.mark.parametrize(
    ("only", "tools"),
    [
        (["list*"], ("list_pets", "list_pets_2")),
        (["DELETE *", "photo"], ("delete", "photo")),
        (["pets"], ("list_pets",)),
    ],
    ids=["name", "path", "tag"],
)
def test_only_what_was_chosen_is_written(only: list[str], tools: tuple[str, ...]) -> None:
    made = build_pack(read_description(PETS), "pet_store", only)

    assert made.tools == tools
    assert "class Node" not in made.text


def test_a_choice_that_fits_nothing_lists_what_there_is() -> None:
    with pytest.raises(DescriptionError, match=r"no operation matches cats; there are GET /pets, POST /pets"):
        build_pack(read_description(PETS), "pet_store", ["cats"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("swagger: '2.0'", "has version 2.0; convert it"),
        ("{", "is not JSON"),
        ("a: [", "not valid YAML"),
        ("[]", "has no key openapi"),
    ],
    ids=["swagger", "JSON", "YAML", "something else"],
)
def test_a_file_that_is_no_description_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)

    with pytest.raises(DescriptionError, match=words):
        read_description(file)


def test_parents_without_end_in_sight_are_left_out() -> None:
    schemas = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}], "properties": {f"k{n}": {"type": "string"}}}
        for n in range(3000)
    }
    answer = {"description": "x", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    paths = {"/a": {"get": {"responses": {"200": answer}}}}

    text = build_pack(Description({**PLAIN, "paths": paths, "components": {"schemas": schemas}}), "x", []).text

    assert "k0: NotRequired[str]" in text
    assert "k99: NotRequired[str]" in text
    assert "k200" not in text


def test_references_that_lead_nowhere_or_in_circles_mean_anything(tmp_path: Path) -> None:
    schemas = {
        "A": {"$ref": "#/components/schemas/B"},
        "B": {"$ref": "#/components/schemas/A"},
        "C": {"anyOf": [{"$ref": "#/components/schemas/C"}, {"type": "string"}]},
        "D": {"allOf": [{"$ref": "#/components/schemas/D"}]},
    }
    refs = [*(f"#/components/schemas/{name}" for name in schemas), "#/nowhere", "other.yaml#/X", "http://x/y"]
    parameters = [{"name": f"p{n}", "in": "query", "schema": {"$ref": ref}} for n, ref in enumerate(refs)]
    root = {**PLAIN, "components": {"schemas": schemas}, "paths": {"/a": {"get": {"parameters": parameters}}}}

    text = build_pack(Description(root), "x", []).text

    assert [f"p{n}: Any = None" in text for n in range(len(refs))] == [True] * len(refs)


def test_unions_keep_what_stands_in_their_brackets() -> None:
    maybe = {"type": ["integer", "null"]}
    arms = [
        {"type": "array", "items": maybe},
        {"type": "object", "additionalProperties": maybe},
        {"enum": ["a | b", None]},
    ]
    parameters = [{"name": "x", "in": "query", "schema": {"anyOf": arms}}]

    text = build_pack(Description({**PLAIN, "paths": {"/a": {"get": {"parameters": parameters}}}}), "x", []).text

    assert 'x: list[int | None] | dict[str, int | None] | Literal["a | b"] | None = None' in text


def test_a_long_chain_of_references_is_typed_to_its_end() -> None:
    schemas: dict[str, Any] = {
        f"S{n}": {
            "type": "object",
            "properties": {"next": {"$ref": f"#/components/schemas/S{n + 1}"}, "n": {"type": "integer"}},
        }
        for n in range(2000)
    }
    maybe = {"type": ["object", "null"], "properties": {"first": {"$ref": "#/components/schemas/S0"}}}
    responses = {"200": {"description": "x", "content": {"application/json": {"schema": maybe}}}}
    root = {
        **PLAIN,
        "components": {"schemas": schemas},
        "paths": {"/a": {"get": {"operationId": "a", "responses": responses}}},
    }

    text = build_pack(Description(root), "x", []).text

    assert "def a() -> AResult | None:" in text
    assert "class S1999(TypedDict):\n    next: NotRequired[Any]\n    n: NotRequired[int]\n" in text


def test_no_operation_takes_a_name_that_the_file_uses_itself(source: str) -> None:
    tree = ast.parse(source)
    bound = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    bound |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    assert bound == OF_THE_FILE


def test_the_pack_is_named_after_its_service() -> None:
    assert name_pack(Description({"info": {"title": "Ünïted Pets (v2)"}})) == "united_pets_v2"


HOSTILE = st.sampled_from(
    [
        '"""',
        "\\",
        "'''",
        "\n",
        "\x00",
        "\u2028",
        "{x}",
        "#",
        "import os",
        "a",
        '"',
        "# /// script",
        "\ud800",
        "class",
        "0",
        "é",
    ]
)


@given(st.lists(HOSTILE, max_size=6).map("".join), st.lists(HOSTILE, min_size=1, max_size=6).map("".join))
@unhurried
def test_no_text_of_a_description_is_code(text: str, name: str) -> None:
    schema = {"type": "object", "description": text, "properties": {name: {"enum": [name, text]}, "x": {"const": text}}}
    operation = {
        "operationId": name,
        "summary": text,
        "tags": [text],
        "security": [{name: []}],
        "parameters": [
            {"name": name, "in": place, "description": text, "schema": schema}
            for place in ("query", "header", "cookie")
        ],
        "requestBody": {
            "description": text,
            "content": {name: {"schema": schema}, "application/json": {"schema": schema}},
        },
        "responses": {"200": {"description": text, "content": {"application/json": {"schema": schema}}}},
    }
    root = {
        "info": {"title": text, "description": text},
        "servers": [{"url": text}],
        "components": {"securitySchemes": {name: {"type": "apiKey", "in": "header", "name": text or "x"}}},
        "paths": {f"/{text}": {"get": operation}},
    }

    made = build_pack(Description(root), "sample", [])

    [tool] = parse_pack(made.text.encode(), PETS).tools.values()
    assert tool.tool == made.tools[0]
    compile(made.text, "sample.py", "exec")
