"""Claude, behind Anthropic's Messages API."""

from __future__ import annotations

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Name, Url, setting


class AnthropicSettings(ProviderSettings):
    """Claude; its key is the secret ANTHROPIC_API_KEY."""

    model: Name = setting("claude-sonnet-5-5", "the Anthropic model")
    base_url: Url | None = setting(None, "a different address for its API")


PROVIDER = Provider(
    name="anthropic",
    settings=AnthropicSettings,
    library="anthropic",
    secret="ANTHROPIC_API_KEY",
    page="https://platform.claude.com/settings/keys",
)
