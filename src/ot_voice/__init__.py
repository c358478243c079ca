"""The assistant that listens: audio in, speech found and recognised, an AI client asked, its answer spoken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot_voice.background_transcriber import Answers, BackgroundTranscriber
    from ot_voice.consent import SpokenConsent
    from ot_voice.ear import WakeWordHeard
    from ot_voice.events import (
        Answered,
        AnswerEnded,
        Answering,
        Asked,
        Asking,
        Dropped,
        Failed,
        Heard,
        Interrupted,
        NotUnderstood,
        Spoken,
        VoiceEvent,
    )
    from ot_voice.listening import open_listening
    from ot_voice.microphone import MicrophoneSource
    from ot_voice.players import FolderPlayer, Player, find_player
    from ot_voice.recognisers import Recogniser, Transcript
    from ot_voice.sources import AudioSource, PcmSource, WavSource
    from ot_voice.speech import Speaker
    from ot_voice.vad import SpeechBegan
else:  # A helper process imports one engine of this package, and nothing else of it.
    __getattr__ = lazy_names(__name__)
