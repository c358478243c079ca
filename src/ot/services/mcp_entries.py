"""An entry of the MCP registry (`server.json` of 2025-12-11), as far as it is read; the rest of it is ignored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

_Word = Annotated[str, StringConstraints(max_length=500)]
_Text = Annotated[str, StringConstraints(max_length=2000)]
_NAME = r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"  # ASCII, so that no letter looks like another one
_MOST = 50  # of each kind


class Input(BaseModel):
    """A value that a person is asked for, or that is fixed."""

    description: _Text = ""
    isRequired: bool = False  # noqa: N815 - as the registry writes it, here and below
    isSecret: bool = False  # noqa: N815
    default: _Text | None = None
    value: _Text | None = None
    choices: list[_Word] = Field(default=[], max_length=_MOST)
    variables: dict[_Word, Input] = Field(default={}, max_length=_MOST)


class NamedInput(Input):
    name: _Word


class Argument(Input):
    type: Literal["positional", "named"]
    name: _Word = ""
    valueHint: _Word = ""  # noqa: N815


class Transport(BaseModel):
    type: _Word
    url: _Text = ""
    headers: list[NamedInput] = Field(default=[], max_length=_MOST)
    variables: dict[_Word, Input] = Field(default={}, max_length=_MOST)


class Package(BaseModel):
    registryType: _Word  # noqa: N815
    identifier: _Word
    version: _Word = ""
    registryBaseUrl: _Word | None = None  # noqa: N815
    runtimeHint: _Word | None = None  # noqa: N815
    runtimeArguments: list[Argument] = Field(default=[], max_length=_MOST)  # noqa: N815
    packageArguments: list[Argument] = Field(default=[], max_length=_MOST)  # noqa: N815
    environmentVariables: list[NamedInput] = Field(default=[], max_length=_MOST)  # noqa: N815
    fileSha256: _Word | None = None  # noqa: N815
    transport: Transport


class Repository(BaseModel):
    url: _Word = ""


class Entry(BaseModel):
    name: Annotated[str, StringConstraints(max_length=200, pattern=_NAME)]
    title: _Word = ""
    description: _Word = ""
    version: Annotated[str, StringConstraints(max_length=255)]
    repository: Repository = Repository()
    packages: list[Package] = Field(default=[], max_length=_MOST)
    remotes: list[Transport] = Field(default=[], max_length=_MOST)

    @property
    def publisher(self) -> str:
        """The namespace, which a registry gives only to whoever proves that it is theirs."""
        return self.name.partition("/")[0]
