"""The link to the zygote: what it reports, what is asked of it, and another zygote in its place when it has ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ot.kernel.zygote_process import ZygoteProcess, end_zygote, request_kernels, request_probe
from ot_guardian import clear_folder
from ot_kernel.wire import read_json

if TYPE_CHECKING:
    from ot_kernel.message_types import ZygoteReport

MAX_SAID = 4096
_MAX_REPORT = 4096  # bytes
_HANDED = 5  # descriptors of a kernel, as it announces itself


class ZygoteLink:
    """Owns the zygote; `hear` gets its reports and the descriptors with them, and `on_end` is called when it has ended.

    `launch` starts another one.
    """

    def __init__(
        self,
        zygote: ZygoteProcess,
        *,
        launch: Callable[..., ZygoteProcess],
        hear: Callable[[ZygoteReport, list[int]], None],
        on_end: Callable[[], None],
    ) -> None:
        self.zygote = zygote
        self._launch = launch
        self._hear = hear
        self._on_end = on_end
        self._plain = False  # after failures, kernels do without what makes them faster
        self._said = b""
        self._scratch_roots: list[Path] = []
        self._loop = asyncio.get_running_loop()

    @property
    def open(self) -> bool:
        """True until it was let go."""
        return self.zygote.control.fileno() != -1

    @property
    def has_ended(self) -> bool:
        return self.zygote.process.poll() is not None

    # -- what it says

    def listen(self) -> None:
        """Hear its reports and what it prints from now on."""
        self._loop.add_reader(self.zygote.control.fileno(), self._receive)
        output = self.zygote.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        self._loop.add_reader(output.fileno(), self._drain, output.fileno())

    def _receive(self) -> None:
        while self.open:  # whoever gets a kernel goes on at once, and may be the last
            try:
                data, fds = self.zygote.control.receive_message(_MAX_REPORT, _HANDED)
            except BlockingIOError:
                return
            except OSError:
                data, fds = b"", []
            if not data:
                self._on_end()
                return
            self._hear(read_json(data.decode()), fds)

    def _drain(self, fd: int) -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        if data:
            self.note_words(data)
        else:
            self._loop.remove_reader(fd)

    def read_words(self) -> None:
        """Read what has been printed so far."""
        if self.zygote.process.stdout is not None:
            self._drain(self.zygote.process.stdout.fileno())

    def note_words(self, data: bytes) -> None:
        """Keep the last that was printed, also by a kernel: it is the only clue to why one cannot start."""
        self._said = (self._said + data)[-MAX_SAID:]

    def last_words(self) -> str:
        return self._said.decode("utf-8", "replace").strip()

    # -- what is asked of it

    def ask_for_kernels(self, count: int, again: Sequence[str]) -> None:
        """Ask for kernels; `again` are scratch folders that may serve again. Raises OSError."""
        request_kernels(self.zygote, count, again=again)

    def ask_for_probe(self) -> None:
        """Ask for a kernel that tries what it must not be able to do. Raises OSError."""
        request_probe(self.zygote)

    # -- its end

    def replace(self, *, engine: str, warm: int) -> None:
        """Start another one, which makes that many kernels at once, and listen to it. Raises OSError."""
        old = self.zygote
        self.zygote = self._launch(
            old.settings,
            state=old.state,
            engine=engine,
            warm=warm,
            sized_scratch=not self._plain,
            pinned_pages=not self._plain,
        )
        self.listen()

    def make_plain(self) -> bool:
        """Let the next ones do without what makes kernels faster, in case it is to blame; False if they do already."""
        was, self._plain = self._plain, True
        return not was

    def hang_up(self) -> None:
        """Close the control socket, by which it ends, with its kernels."""
        if self.open:
            self._loop.remove_reader(self.zygote.control.fileno())
            self.zygote.control.close()

    def let_go(self) -> None:
        """End it, and clear what its kernels wrote."""
        self.hang_up()
        output = self.zygote.process.stdout
        if output is not None and not output.closed:
            self._loop.remove_reader(output.fileno())
        self._scratch_roots.append(self.zygote.scratch_root)
        end_zygote(self.zygote)

    def clear(self) -> None:
        """Clear what kernels of a zygote that was killed have written a moment later."""
        for folder in self._scratch_roots:
            clear_folder(folder)
