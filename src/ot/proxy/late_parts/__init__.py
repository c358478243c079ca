"""The parts that a server needs, loaded by the first one that is configured: many people have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.proxy.definitions.acceptance import Acceptance
    from ot.proxy.listed import Listed, list_contents, list_left_out
    from ot.proxy.packs import BuiltPack, build_pack
    from ot.proxy.server import ProxiedServer
    from ot.proxy.status import ServerStatus
else:
    __getattr__ = lazy_names(__name__)
