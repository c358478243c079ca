"""Listens to the default microphone for a moment and plays a second of sound, with the devices that ALSA is told of."""

import sys
from pathlib import Path

import anyio

from ot_voice.sources import MicrophoneSource
from ot_voice.players import DevicePlayer, find_player
from ot_voice.audio import write_wav


async def main(sound):
    heard = b""
    async for piece in MicrophoneSource().pieces():
        heard += piece
        if len(heard) >= 64_000:
            break
    sys.stdout.write(f"heard {any(heard)}\n")
    player = find_player()
    assert isinstance(player, DevicePlayer)
    with anyio.fail_after(60):
        await player.play(write_wav(sound.read_bytes()))
    sys.stdout.write("played\n")


anyio.run(main, Path(sys.argv[1]))
