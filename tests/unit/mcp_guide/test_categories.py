"""Categories and collections of them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mcp_guide.errors import BadNameError, ExistsError, NotEmptyError, NotFoundError, YamlError
from tests.unit.mcp_guide.guides import make_guide


def test_a_project_without_a_guide_has_no_categories_and_gets_no_folder(tmp_path: Path) -> None:
    guide = make_guide(tmp_path)

    assert guide.categories.list() == []
    assert guide.collections.list() == []
    assert list(tmp_path.iterdir()) == []


def test_the_first_category_makes_the_guide(tmp_path: Path) -> None:
    guide = make_guide(tmp_path)

    created = guide.categories.create("rules", "What\nholds  here")

    assert created == {"category": "rules", "description": "What holds here", "documents": 0}
    assert guide.categories.list() == [created]
    assert (tmp_path / ".guide/rules/category.yaml").read_text() == "description: What holds here\n"


def test_folders_made_by_hand_are_categories(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"Rules/a": "", "Rules/b": "", "how to/c": "", ".git/d": ""})
    (tmp_path / ".guide/file").touch()

    assert [(one["category"], one["documents"]) for one in guide.categories.list()] == [("Rules", 2), ("how to", 1)]


def test_a_description_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    (tmp_path / ".guide/rules/category.yaml").write_text("description: [")

    [category] = guide.categories.list()

    assert (category["category"], category["documents"]) == ("rules", 1)
    assert category["problem"].startswith("category.yaml is not valid YAML")


@pytest.mark.parametrize("name", ["rules", "ｒules"])
def test_a_taken_name_is_refused(tmp_path: Path, name: str) -> None:
    guide = make_guide(tmp_path, {"Rules/a": ""})

    with pytest.raises(ExistsError) as caught:
        guide.categories.create(name, "")

    assert caught.value.name == "Rules"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/tmp", "..\\x", "x\0", "collections.yaml/..", "CON", "Upper"])
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    guide = make_guide(tmp_path)

    with pytest.raises(BadNameError):
        guide.categories.create(name, "")

    assert list(tmp_path.iterdir()) == []


def test_updating_changes_only_the_description(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": "text"})

    changed = guide.categories.update("rules", "New: \ud800")

    assert changed == {"category": "rules", "description": "New: \\ud800", "documents": 1}
    with pytest.raises(NotFoundError):
        guide.categories.update("nowhere", "New")


def test_a_category_with_documents_is_removed_only_when_that_is_asked_for(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": "", "rules/b": ""})
    guide.categories.update("rules", "x")
    (tmp_path / ".guide/rules" / ".0123456789abcdef.tmp").touch()

    with pytest.raises(NotEmptyError) as caught:
        guide.categories.remove("rules", with_documents=False)
    assert caught.value.documents == 2
    assert len(list((tmp_path / ".guide/rules").iterdir())) == 4

    assert guide.categories.remove("rules", with_documents=True) == 2
    assert list((tmp_path / ".guide").iterdir()) == []


@pytest.mark.parametrize("stranger", ["notes.txt", "sub/x", ".keep", "folder.md/x"])
def test_a_category_with_files_of_others_is_not_removed(tmp_path: Path, stranger: str) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    file = tmp_path / ".guide/rules" / stranger
    file.parent.mkdir(exist_ok=True)
    file.touch()

    with pytest.raises(NotEmptyError) as caught:
        guide.categories.remove("rules", with_documents=True)

    assert caught.value.strangers == (stranger.partition("/")[0],)
    assert (tmp_path / ".guide/rules/a.md").exists()


def test_a_linked_document_goes_with_its_category_and_its_target_stays(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / ".guide/rules/link.md").symlink_to("../../secret.md")

    guide.categories.remove("rules", with_documents=True)

    assert (tmp_path / "secret.md").read_text() == "secret"


def test_a_collection_names_categories_in_an_order(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": "", "api/b": ""})

    guide.collections.set("onboarding", description="For newcomers", categories=["rules", "api", "rules"])

    kept = {"collection": "onboarding", "description": "For newcomers", "categories": ["rules", "api"]}
    assert guide.collections.list() == [kept]
    assert guide.collections.read("onboarding") == kept


def test_a_collection_is_replaced_and_removed_and_its_categories_stay(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": "", "api/b": ""})
    guide.collections.set("one", description="", categories=["rules"])
    guide.collections.set("two", description="", categories=["rules"])

    guide.collections.set("one", description="new", categories=["api"])
    assert guide.collections.read("one") == {"collection": "one", "description": "new", "categories": ["api"]}

    guide.collections.remove("one")
    assert [collection["collection"] for collection in guide.collections.list()] == ["two"]
    assert guide.folder.category_names() == ["api", "rules"]
    with pytest.raises(NotFoundError) as caught:
        guide.collections.remove("on")
    assert caught.value.kind == "collection"


def test_a_collection_of_a_category_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})

    with pytest.raises(NotFoundError) as caught:
        guide.collections.set("x", description="", categories=["rules", "ruls"])

    assert caught.value.nearest == ("rules",)


def test_collections_written_by_hand_are_read_and_what_they_miss_is_told(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    (tmp_path / ".guide/collections.yaml").write_text("short: [rules]\nlong: {categories: [rules, gone]}\n")

    assert guide.collections.list() == [
        {"collection": "short", "description": "", "categories": ["rules"]},
        {"collection": "long", "description": "", "categories": ["rules"], "missing": ["gone"]},
    ]


@pytest.mark.parametrize(
    "text",
    ["x: 1", "x: {categories: rules}", "x: {categories: [[rules]]}", "x: {description: [a], categories: []}", "x: {no: []}", "[", "a: &a [*a]"],
)  # fmt: skip
def test_a_broken_list_of_collections_is_a_mistake_and_is_not_overwritten(tmp_path: Path, text: str) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    file = tmp_path / ".guide/collections.yaml"
    file.write_text(text)

    with pytest.raises(YamlError) as caught:
        guide.collections.list()
    with pytest.raises(YamlError):
        guide.collections.set("new", description="", categories=["rules"])

    assert caught.value.where == "collections.yaml"
    assert file.read_text() == text


def test_collections_set_at_once_are_all_kept(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    names = [f"c{number}" for number in range(12)]

    def set_one(name: str) -> None:
        guide.collections.set(name, description="", categories=["rules"])

    threads = [threading.Thread(target=set_one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {collection["collection"] for collection in guide.collections.list()} == set(names)
