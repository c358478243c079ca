"""Tools for collections, the named groups of categories: list, set and remove them."""

from __future__ import annotations

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments, requires_consent
from mcp_guide.categories import Collection
from mcp_guide.guide import Guide, guide_of, on_disk


class RemovedCollection(TypedDict):
    """A collection that is gone."""

    removed: str


class ListCollectionsArgs(ToolArguments):
    """No arguments: there are never many collections."""


class SetCollectionArgs(ToolArguments):
    collection: str = Field(description="Name, such as onboarding")
    description: str = Field(max_length=1000, description="One sentence: what it is for")
    categories: list[str] = Field(min_length=1, max_length=100, description="Names of existing categories")


class RemoveCollectionArgs(ToolArguments):
    collection: str = Field(description="Name of the collection")


@ToolArguments.declare
@on_disk
def list_collections(args: ListCollectionsArgs, ctx: Context[Guide]) -> Result[list[Collection]]:
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
