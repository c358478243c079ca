"""States that clients send back, sealed with the keys that all replicas have: for one person, and for one command."""

from __future__ import annotations

from mcp.server.context import ServerRequestContext
from mcp.server.request_state import InvalidRequestState, RequestStateSecurity

from onetool.people.person_of import person_of
from ot.run.waiting_runs import PATIENCE
from ot.store.sealing import Sealer, SealError

_PLACE = "request state"


class _Codec:
    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def seal(self, payload: bytes) -> str:
        return self._sealer.seal(payload, place=_PLACE)

    def unseal(self, token: str) -> bytes:
        try:
            return self._sealer.open(token, place=_PLACE)
        except SealError as error:
            raise InvalidRequestState(str(error)) from error


def seal_states(sealer: Sealer) -> RequestStateSecurity:
    """Build what seals states and opens them, in whichever replica; a state is as old as a run may wait."""
    return RequestStateSecurity(codec=_Codec(sealer), ttl=PATIENCE, bind_principal=_principal_of)


def _principal_of(ctx: ServerRequestContext[object]) -> str:
    return person_of(ctx).principal
