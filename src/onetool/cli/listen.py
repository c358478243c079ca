"""`onetool listen`: speak with a model that can use every tool."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

import ot_voice as voice
from onetool.chat.display import PlainDisplay
from onetool.cli import FAILED, OK
from onetool.cli.chat import choose
from onetool.cli.printing import complain, fail, say
from onetool.cli.start import load
from onetool.console.caller import make_caller
from onetool.console.clean_text import clean, show_seconds
from ot.app import launch, open_app, open_assistant
from ot.config.assistant import VoiceSettings
from ot.config.loader import LoadedConfig
from ot.config.providers import find_providers
from ot.errors import ModelError, VoiceError
from ot.execution.wording import word_error
from ot.kernel.zygote_process import ZygoteProcess


def add_arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--wav", type=Path, metavar="FILE", help="listen to a WAV file instead of the microphone")
    where.add_argument("--stdin", action="store_true", help="listen to raw 16-bit samples, 16 kHz, mono, on stdin")
    parser.add_argument("--wake-word", metavar="W", help="answer only after this word, such as hey_jarvis")
    parser.add_argument("--provider", choices=[*find_providers()], help="the model's provider (default: ai.provider)")
    parser.add_argument("--model", metavar="M", help="the model (default: the configured one)")
    parser.add_argument("--no-answer", action="store_true", help="only write down what is heard")
    parser.add_argument("--no-speech", action="store_true", help="do not speak the answers")
    parser.add_argument("--speak-to", type=Path, metavar="FOLDER", help="write what would be spoken into WAV files")
    parser.add_argument("--once", action="store_true", help="end after the first answer")


def main(options: Namespace) -> int:
    loaded = load(options)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # errors are shown where they happen
    settings = loaded.config.voice
    if options.wake_word:
        settings = settings.model_copy(update={"wake_word": options.wake_word})
    try:
        if options.wav is not None:
            source: voice.AudioSource = voice.WavSource(options.wav)
        elif options.stdin:
            source = voice.PcmSource(sys.stdin.fileno())
        else:
            source = voice.MicrophoneSource(settings.microphone)
        return anyio.run(_listen, options, loaded, settings, source, launch(loaded))
    except (ModelError, VoiceError) as error:
        return fail(f"onetool listen: {word_error(error)}")


def _choose_player(options: Namespace, settings: VoiceSettings) -> voice.Player | None:
    if options.no_speech or options.no_answer or settings.speaker == "off":
        return None
    if options.speak_to is not None:
        return voice.FolderPlayer(options.speak_to)
    player = voice.find_player()
    if player is None:
        complain("(no loudspeaker was found; answers are only written)")
    return player


async def _listen(
    options: Namespace,
    loaded: LoadedConfig,
    settings: VoiceSettings,
    source: voice.AudioSource,
    launched: ZygoteProcess,
) -> int:
    display, answers, consent = _Display(), None, voice.SpokenConsent()
    last = (voice.Heard if options.no_answer else voice.AnswerEnded) if options.once else ()

    def watch(event: voice.VoiceEvent) -> None:
        display.show(event)
        if isinstance(event, last):
            listening.stop()

    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(loaded, launched=launched, offer_run=True))
        player = _choose_player(options, settings)
        if not options.no_answer:
            ai = choose(loaded.config.ai, options.provider, options.model)
            # A question that cannot be read aloud cannot be answered by voice: without a loudspeaker calls are refused.
            caller = make_caller("onetool listen", ask=consent.ask if player is not None else None)
            answers = await stack.enter_async_context(open_assistant(app, loaded, settings=ai, caller=caller))
        opening = voice.open_listening(
            source,
            answers,
            app.executor,
            settings=settings,
            player=player,
            watch=watch,
            catch_up=app.servers.catch_up,
            consent=consent,
        )
        listening = await stack.enter_async_context(opening)
        if source.live:
            complain("Listening. Ctrl-C ends it.")
        await listening.finished()
    if not display.heard:
        complain("(no speech was found)")
    return FAILED if display.failed else OK


class _Display:
    def __init__(self) -> None:
        self._answers = PlainDisplay()
        self.heard = False  # speech, understood or not
        self.failed = False  # a part of it, at least once

    def show(self, event: voice.VoiceEvent) -> None:
        self.heard |= isinstance(event, voice.Heard | voice.NotUnderstood | voice.Failed)
        match event:
            case voice.WakeWordHeard():
                complain(f"({event.name})")
            case voice.Heard():
                say(f"> {clean(event.text)}")
                self._answers.begin()
            case voice.NotUnderstood():
                complain("(not understood)")
            case voice.Answering():
                self._answers.show(event.event)
            case voice.Dropped():
                complain(f"(too much at once: {show_seconds(event.seconds)} of speech was not answered)")
            case voice.Asking():
                self._answers.pause()
                complain(f"? {clean(event.question)}")
            case voice.Answered():
                complain("(yes)" if event.agreed else "(no)")
            case voice.Failed():
                self.failed = True
                self._answers.end(f"! {event.part}: {event.reason}")
            case voice.Interrupted() | voice.AnswerEnded():
                self._answers.end("(stopped)" if isinstance(event, voice.Interrupted) else "")
