"""Exceptions of tools, classified by type: the same words here, in helper processes and in workers."""

from __future__ import annotations

from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of

__all__ = ["builtin_name", "innermost", "is_network_failure", "message_of"]
