"""Tools for categories, and for collections, the named groups of them: list, create, update and remove them."""

from __future__ import annotations

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments, requires_consent
from mcp_guide.categories import Category, Collection
from mcp_guide.guide import Guide, guide_of, on_disk


class RemovedCategory(TypedDict):
    """A category that is gone, and how many documents went with it."""

    removed: str
    documents: int


class CreateCategoryArgs(ToolArguments):
    category: str = Field(description="Name in lower case, such as api-design")
    description: str = Field(max_length=1000, description="One sentence: what its documents are about")


class UpdateCategoryArgs(ToolArguments):
    category: str = Field(description="Name of the category")
    description: str = Field(max_length=1000, description="One sentence that replaces its description")


class RemoveCategoryArgs(ToolArguments):
    category: str = Field(description="Name of the category")
    with_documents: bool = Field(default=False, description="Remove its documents as well")


@ToolArguments.declare
@on_disk
def list_categories(args: ToolArguments, ctx: Context[Guide]) -> Result[list[Category]]:
    """List the categories of this project's guidance, with the number of documents in each."""
    return Result.ok(guide_of(ctx).categories.list())


@requires_consent("CREATE_CATEGORY", effect="creates a folder in the guide's folder")
@on_disk
def create_category(args: CreateCategoryArgs, ctx: Context[Guide]) -> Result[Category]:
    """Create a category for documents of this project's guidance."""
    return Result.ok(guide_of(ctx).categories.create(args.category, args.description))


@requires_consent("UPDATE_CATEGORY", effect="replaces the description of a category")
@on_disk
def update_category(args: UpdateCategoryArgs, ctx: Context[Guide]) -> Result[Category]:
    """Replace the description of a category of this project's guidance; its documents stay as they are."""
    return Result.ok(guide_of(ctx).categories.update(args.category, args.description))


@requires_consent("REMOVE_CATEGORY", effect="deletes a folder from the guide's folder")
@on_disk
def remove_category(args: RemoveCategoryArgs, ctx: Context[Guide]) -> Result[RemovedCategory]:
    """Remove a category of this project's guidance; its documents too, but only if asked."""
    count = guide_of(ctx).categories.remove(args.category, with_documents=args.with_documents)
    message = f"Removed the category {args.category} and {count} of its documents."
    return Result.ok({"removed": args.category, "documents": count}, message=message)


class RemovedCollection(TypedDict):
    """A collection that is gone."""

    removed: str


class SetCollectionArgs(ToolArguments):
    collection: str = Field(description="Name, such as onboarding")
    description: str = Field(max_length=1000, description="One sentence: what it is for")
    categories: list[str] = Field(min_length=1, max_length=100, description="Names of existing categories")


class RemoveCollectionArgs(ToolArguments):
    collection: str = Field(description="Name of the collection")


@ToolArguments.declare
@on_disk
def list_collections(args: ToolArguments, ctx: Context[Guide]) -> Result[list[Collection]]:
    """List the collections of this project's guidance: groups of categories that are read together."""
    return Result.ok(guide_of(ctx).collections.list())


@requires_consent("SET_COLLECTION", effect="rewrites the list of collections in the guide's folder")
@on_disk
def set_collection(args: SetCollectionArgs, ctx: Context[Guide]) -> Result[Collection]:
    """Create a collection of categories, or replace the one with this name."""
    collections = guide_of(ctx).collections
    return Result.ok(collections.set(args.collection, description=args.description, categories=args.categories))


@requires_consent("REMOVE_COLLECTION", effect="rewrites the list of collections in the guide's folder")
@on_disk
def remove_collection(args: RemoveCollectionArgs, ctx: Context[Guide]) -> Result[RemovedCollection]:
    """Remove a collection; its categories and their documents stay."""
    guide_of(ctx).collections.remove(args.collection)
    return Result.ok({"removed": args.collection}, message=f"Removed the collection {args.collection}.")
