"""The wake word: openWakeWord's models, which its package brings along, listen to every block."""

from __future__ import annotations

from ot.errors import VoiceError
from ot_voice.library import load_library

_LIBRARY = "pyopen_wakeword"


class WakeWord:
    """One wake word by the name of its model, such as "hey_jarvis"; raises VoiceError for an unknown one."""

    def __init__(self, name: str, *, threshold: float = 0.5) -> None:
        library = load_library(_LIBRARY)
        self.name = name.replace(" ", "_").casefold()
        known = {model.value: model for model in library.Model}
        if self.name not in known:
            raise VoiceError(f"wake word {name!r}", f"unknown; choose one of {', '.join(sorted(known))}")
        self._threshold = threshold
        self._features = library.OpenWakeWordFeatures.from_builtin()
        self._model = library.OpenWakeWord.from_builtin(known[self.name])

    def heard_in(self, block: bytes) -> bool:
        """True if the word has just been said, about 0.15 to 0.4 s after its end."""
        heard = False
        for features in self._features.process_streaming(block):
            for probability in self._model.process_streaming(features):
                heard = heard or probability >= self._threshold
        if heard:
            self._model.reset()  # it would go on telling of the same word
        return heard

    def close(self) -> None:
        self._model.close()
        self._features.close()
