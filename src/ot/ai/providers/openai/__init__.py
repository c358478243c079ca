"""Models behind OpenAI's chat API: OpenAI's own, and those of every server that speaks its language."""

from __future__ import annotations

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Name, Url, setting


class OpenaiSettings(ProviderSettings):
    """OpenAI, or any server that speaks its language; its key, if it wants one, is the secret OPENAI_API_KEY."""

    model: Name = setting("gpt-5-mini", "the model to use")
    base_url: Url | None = setting(
        None, "another address that speaks OpenAI's language, such as `http://127.0.0.1:8080/v1`"
    )


PROVIDER = Provider(
    name="openai",
    settings=OpenaiSettings,
    library="httpx2",  # which the base install has; its extra brings what the chat needs
    secret="OPENAI_API_KEY",
    needs_key=False,  # a server on this machine wants none
    page="https://platform.openai.com/api-keys",
)
