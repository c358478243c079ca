"""The client that the configuration asks for, and what it leaves in the statistics."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ot.ai.messages import Retrying
from ot.ai.tool_loop import AnthropicClient, OllamaClient, build_client
from ot.app import open_app, open_assistant
from ot.config.loader import LoadedConfig, load_config
from ot.config.secrets import Secrets
from ot.errors import ConfigError, ModelRefusedError
from ot.execution.wording import word_error
from tests.models.clients import only, settings_for
from tests.models.raw_provider import RawProvider, claude_end, claude_start, claude_text, llama_end, llama_part
from tests.opened_executor import open_executor

PRICES = "prices: {'claude-*': {input: 10, output: 100, cache_read: 1, cache_write: 1}}"


def load(folder: Path, ai: str) -> LoadedConfig:
    (folder / ".onetool").mkdir()
    (folder / ".onetool/onetool.yaml").write_text(f"ai: {{{ai}}}")
    (folder / ".onetool/secrets.yaml").write_text("ANTHROPIC_API_KEY: sk-secret-123456\n")
    (folder / ".onetool/secrets.yaml").chmod(0o600)
    return load_config(environ={}, cwd=folder, home=folder)


async def test_requests_are_counted_with_their_cost_where_it_is_known(tmp_path: Path, raw: RawProvider) -> None:
    ai = f"failover: ollama, retries: 0, anthropic: {{base_url: '{raw.url}'}}, ollama: {{host: '{raw.url}'}}, {PRICES}"
    raw.then(claude_start(cache_read_input_tokens=90), claude_text("one"), claude_end(output_tokens=7))
    raw.then(b"{}", status=529)
    raw.then(llama_part("two"), llama_end(sent=11, written=3))
    loaded = load(tmp_path, ai)

    async with open_app(loaded) as app:
        async with open_assistant(app, loaded) as client:
            assert isinstance(client, AnthropicClient)
            assert await client.ask("first") == "one"
            events = [event async for event in client.reply("second")]
        stats: Any = await app.executor.call("ot.stats", {})

    assert [event.provider for event in only(Retrying, events)] == ["ollama"]
    found = {model["provider"]: model for model in stats["models"]}
    assert (found["anthropic"]["input_tokens"], found["anthropic"]["output_tokens"]) == (100, 7)
    assert found["anthropic"]["cost"] == pytest.approx((10 * 10 + 90 * 1 + 7 * 100) / 1_000_000)
    assert (found["ollama"]["input_tokens"], found["ollama"]["output_tokens"]) == (11, 3)
    assert found["ollama"]["cost"] is None


async def test_the_key_is_a_secret(raw: RawProvider) -> None:
    raw.then(b'{"error": {"type": "authentication_error", "message": "bad key sk-secret-123456"}}', status=401)
    secrets = Secrets({"ANTHROPIC_API_KEY": "sk-secret-123456"})

    async with open_executor() as opened:
        async with build_client(opened.executor, settings_for(raw.url), secrets) as client:
            with pytest.raises(ModelRefusedError) as refused:
                await client.ask("go")
        ollama = build_client(opened.executor, settings_for(raw.url, provider="ollama"), Secrets())
        assert isinstance(ollama, OllamaClient)
        with pytest.raises(ConfigError) as caught:
            build_client(opened.executor, settings_for(raw.url), Secrets())
    assert caught.value.key == "ANTHROPIC_API_KEY"
    assert refused.value.reason == "bad key ***"


async def test_the_key_of_the_model_that_stands_in_is_a_secret_too(raw: RawProvider) -> None:
    raw.then(b"{}", status=503)
    raw.then(b'{"error": {"type": "authentication_error", "message": "bad key sk-secret-123456"}}', status=401)
    secrets = Secrets({"ANTHROPIC_API_KEY": "sk-secret-123456"})
    settings = settings_for(raw.url, provider="ollama", failover="anthropic", retries=0)

    async with open_executor() as opened, build_client(opened.executor, settings, secrets) as client:
        with pytest.raises(ModelRefusedError) as refused:
            await client.ask("go")

    assert refused.value.reason == "bad key ***"


async def test_without_a_key_for_the_model_that_stands_in_the_setting_that_wants_it_is_named(raw: RawProvider) -> None:
    settings = settings_for(raw.url, provider="ollama", failover="anthropic")

    async with open_executor() as opened:
        with pytest.raises(ConfigError) as caught:
            build_client(opened.executor, settings, Secrets())

    assert caught.value.key == "ANTHROPIC_API_KEY"
    assert "(ai.failover)" in word_error(caught.value)


def test_building_a_client_loads_neither_sdk() -> None:
    code = (
        "import sys; from ot.ai.opening import build_model; from ot.config.assistant import AiSettings; "
        "build_model(AiSettings(), 'ollama'); build_model(AiSettings(), 'anthropic', api_key='k'); "
        "sys.exit(bool({'anthropic', 'ollama', 'httpx', 'httpx2'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
