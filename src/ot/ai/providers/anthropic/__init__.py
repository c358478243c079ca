"""Claude, behind Anthropic's Messages API."""

from __future__ import annotations

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Name, Url


class AnthropicSettings(ProviderSettings):
    """Claude; its key is the secret ANTHROPIC_API_KEY."""

    model: Name = "claude-sonnet-5-5"
    base_url: Url | None = None


PROVIDER = Provider(
    name="anthropic",
    settings=AnthropicSettings,
    client="AnthropicClient",
    library="anthropic",
    secret="ANTHROPIC_API_KEY",
)
