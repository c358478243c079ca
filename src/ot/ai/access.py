"""ModelAccess: the keys of the person's models, and where requests to them are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.config.providers import Provider
from ot.config.secrets import Secrets
from ot.limits import PersonLimits
from ot.stats.recorder import Recorder
from ot.text.redaction import Redactor

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The keys and counters that a request to a model needs besides its settings; lent to packs."""

    secrets: Secrets
    redactor: Redactor
    recorder: Recorder | None
    telemetry: Telemetry | None = None
    limits: PersonLimits | None = None

    def key_of(self, provider: Provider) -> str:
        """Return the key, or an empty text; from then on it is known and redacted."""
        key = self.secrets.get(provider.secret) or ""
        self.redactor.learn(key)
        return key
