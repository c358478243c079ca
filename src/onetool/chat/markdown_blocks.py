"""Markdown that is still being written: which of it is settled, so that it can be printed for good."""

from __future__ import annotations

from markdown_it import MarkdownIt

LONGEST_BLOCK = 20_000  # characters; a longer one is not laid out again with every piece of it


class MarkdownBlocks:
    """Markdown that arrives in pieces. Whatever stands before the last block can no longer change."""

    def __init__(self) -> None:
        self._parser = MarkdownIt().enable("table")
        self.open = ""  # the block that is still being written

    def feed(self, text: str) -> str:
        """Add a piece; return what it settled, which may be nothing."""
        self.open += text
        if "\n" not in text:
            return ""
        lines = self.open.splitlines(keepends=True)
        start = max(
            (token.map[0] for token in self._parser.parse(self.open) if token.level == 0 and token.map), default=0
        )
        settled = "".join(lines[:start])
        self.open = self.open[len(settled) :]
        return settled

    @property
    def too_long(self) -> bool:
        """True if the open block is now better printed as it is."""
        return len(self.open) > LONGEST_BLOCK

    def end(self) -> str:
        """Return the rest; nothing more comes."""
        rest, self.open = self.open, ""
        return rest
