"""Moonshine: free speech, English, with the weights that its package brings along."""

from __future__ import annotations

from functools import cache
from typing import Any

from ot_voice.audio import RATE, load_library, samples_of


def prepare() -> None:
    _transcriber()


def transcribe(audio: bytes) -> dict[str, str]:
    lines = _transcriber().transcribe_without_streaming(samples_of(audio), RATE).lines
    return {"text": " ".join(line.text.strip() for line in lines).strip()}


@cache
def _transcriber() -> Any:
    """Kept for the life of the helper process."""
    library, interface = load_library("moonshine_voice.transcriber"), load_library("moonshine_voice.moonshine_api")
    weights = load_library("moonshine_voice.utils").get_model_path("tiny-en")
    # We have found the speech already: its own search for it would only cut off beginnings.
    return library.Transcriber(str(weights), interface.ModelArch.TINY, options={"vad_threshold": "0.0"})
