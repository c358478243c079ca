"""faster-whisper, where it is installed: more languages and better ears, but slower."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ot_voice.audio import load_library, samples_of


def prepare(model: str) -> None:
    _model(model)


def transcribe(audio: bytes, model: str) -> dict[str, str | float | None]:
    segments = list(_model(model).transcribe(samples_of(audio), beam_size=5, condition_on_previous_text=False)[0])
    text = " ".join(segment.text.strip() for segment in segments)
    likely = [math.exp(segment.avg_logprob) for segment in segments]
    return {"text": text, "confidence": sum(likely) / len(likely) if likely else None}


@cache
def _model(name: str) -> Any:
    """Kept for the life of the helper process."""
    return load_library("faster_whisper").WhisperModel(name, device="auto", compute_type="int8")
