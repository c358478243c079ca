"""The assistant that listens: audio in, speech found and recognised, an AI client asked, its answer spoken.

One task listens and never waits for the other, which answers one utterance at a time (`background_transcriber`). The
queue between them is limited; a live source drops the oldest, a file waits. An answer is one cancel scope around the
reply and the speech.

- Recognisers run in helper processes, because their libraries block; one that hangs is killed.
- Commands are found by Moonshine's own decoder, which may write nothing but sentences of the grammar
  (`engines/moonshine_commands`). A command is always found, so `second_opinion` measures the doubt: how far its score
  is behind that of the free text. Between yes and no the person is asked. `make bench-voice` measures it.
- Names are live: the grammar is rebuilt when tools or devices change. They are reduced to letters, so nothing in them
  is syntax. The first utterance waits while a server in `voice.names_from` connects.
- Audio is 16 kHz, 16 bit, mono from the source on.
- Spoken consent is half-duplex: nothing heard counts until the question has ended. Both recognisers must hear a yes,
  and a voice agrees to one call, never to a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot_voice.background_transcriber import Answers, BackgroundTranscriber
    from ot_voice.consent import SpokenConsent
    from ot_voice.ear import SpeechBegan, WakeWordHeard
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
    from ot_voice.players import FolderPlayer, Player, Speaker, find_player
    from ot_voice.recognisers import Recogniser, Transcript
    from ot_voice.sources import AudioSource, MicrophoneSource, PcmSource, WavSource
else:  # A helper process imports one engine of this package, and nothing else of it.
    __getattr__ = lazy_names(__name__)
