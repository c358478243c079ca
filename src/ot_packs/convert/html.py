"""HTML as Markdown, by the parser of the standard library: it fetches nothing and runs nothing.

One pass over the text, with what is open on stacks of its own: neither depth nor unclosed elements matter.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ot_packs.convert.parts import cell_text, markdown_table

_SPACES = re.compile(r"\s+")
_SILENT = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "button"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = {
    *("p", "div", "section", "article", "header", "footer", "main", "aside", "nav", "figure", "figcaption", "address"),
    *("form", "fieldset", "details", "summary", "dl", "dt", "dd", "body", "html"),
    *("ul", "ol", "li", "blockquote", "pre"),
    *_HEADINGS,
}
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "del": "~~", "s": "~~"}
_SAFE = re.compile(r"(?:https?:|mailto:|#|[^:]*$)", re.IGNORECASE)


class HtmlReader(HTMLParser):
    """Reads a page; `blocks` are its paragraphs as Markdown, `tables` its tables as rows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.blocks: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._inline: list[str] = []
        self._silent: list[str] = []
        self._links: list[tuple[int, str]] = []
        self._lists: list[int | None] = []  # the number of the last item; None for bullets
        self._prefix = ""
        self._open = {"blockquote": 0, "pre": 0}  # how many of each are open
        self._in_title = False
        self._rows: list[list[str]] | None = None  # of the table that is open
        self._nested = 0  # tables in that one, whose text is taken and whose cells are not
        self._spans: list[tuple[int, int]] = []  # columns and rows of the cell that is open
        self._held: dict[int, int] = {}  # columns that a cell above goes on in, and for how many rows

    def read(self, text: str) -> str:
        """Take a whole page; returns it as Markdown."""
        self.feed(text)
        self.close()
        self._end_table()
        self._end_block()
        return "\n\n".join(self.blocks)

    # -- Events

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if self._silent:
            return
        match tag:
            case "title":
                self._in_title = True
            case "br":
                self._inline.append("\n" if self._rows is None else " ")
            case "a":
                self._links.append((len(self._inline), dict(attrs).get("href") or ""))
            case "img":
                self._show_picture(dict(attrs))
            case "table" | "tr" | "td" | "th" | "caption":
                given = dict(attrs)
                self._start_table_part(tag, _span(given.get("colspan")), _span(given.get("rowspan")))
            case _ if tag in _MARKS and not self._open["pre"]:
                self._inline.append(_MARKS[tag])
            case _ if tag in _BLOCKS or tag == "hr":
                self._end_block()
                self._start_block(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag == self._silent[-1]:
                self._silent.pop()
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            self._end_link()
        elif tag == "table":
            self._end_table()
        elif tag in _MARKS and not self._open["pre"]:
            self._end_mark(_MARKS[tag])
        elif tag in _BLOCKS:
            self._end_block()
            if tag in self._open:
                self._open[tag] = max(self._open[tag] - 1, 0)
            elif tag in ("ul", "ol") and self._lists:
                self._lists.pop()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += _SPACES.sub(" ", data)
        elif not self._silent:
            self._inline.append(data if self._open["pre"] else _SPACES.sub(" ", data))

    # -- Pieces of a line

    def _end_mark(self, mark: str) -> None:
        """Close emphasis; around nothing it would be a line of stars."""
        if self._inline and self._inline[-1] == mark:
            self._inline.pop()
        else:
            self._inline.append(mark)

    def _end_link(self) -> None:
        if not self._links:
            return
        start, address = self._links.pop()
        text = "".join(self._inline[start:]).strip()
        del self._inline[start:]
        if text and (address := address.strip()) and _SAFE.match(address) and not address.startswith("#"):
            text = f"[{text}]({address})"
        self._inline.append(text)

    def _show_picture(self, attributes: dict[str, str | None]) -> None:
        source = attributes.get("src") or ""
        alternative = _SPACES.sub(" ", attributes.get("alt") or "")
        shown = source if _SAFE.match(source) else ""
        if alternative or shown:
            self._inline.append(f"![{alternative}]({shown})" if shown else f"![{alternative}]")

    # -- Blocks

    def _start_block(self, tag: str) -> None:
        match tag:
            case "hr":
                self.blocks.append("---")
            case "blockquote" | "pre":
                self._open[tag] += 1
            case "ul" | "ol":
                self._lists.append(0 if tag == "ol" else None)
            case "li":
                number = self._lists.pop() if self._lists else None
                self._lists.append(None if number is None else number + 1)
                self._prefix = "- " if number is None else f"{number + 1}. "
            case _ if tag in _HEADINGS:
                self._prefix = _HEADINGS[tag]

    def _end_block(self) -> None:
        if self._rows is not None:
            self._inline.append(" ")
            return
        text = "".join(self._inline)
        self._inline.clear()
        self._links.clear()
        prefix, self._prefix = self._prefix, ""
        if self._open["pre"]:
            text = text.strip("\n")
            if text.strip():
                self._add(f"```\n{text}\n```")
            return
        lines = [_SPACES.sub(" ", line).strip() for line in text.split("\n")]
        text = "\n".join(line for line in lines if line)
        if not text.strip("*~`"):
            self._prefix = prefix if prefix.strip("# ") else ""  # a list's item may begin with a block of its own
            return
        if prefix.startswith("#"):
            self._add(prefix + text.replace("\n", " "))
            return
        indent = "  " * max(len(self._lists) - 1, 0)
        if self._lists and not prefix:
            indent += "  "
        block = indent + prefix + text.replace("\n", f"  \n{indent}{' ' * len(prefix)}")
        if prefix and self.blocks and re.match(r"\s*(?:- |\d+\. )", self.blocks[-1].rpartition("\n")[2]):
            self.blocks[-1] += f"\n{self._quoted(block)}"
        else:
            self._add(block)

    def _add(self, block: str) -> None:
        self.blocks.append(self._quoted(block))

    def _quoted(self, block: str) -> str:
        mark = "> " * min(self._open["blockquote"], 8)
        return mark + block.replace("\n", f"\n{mark}") if mark else block

    # -- Tables

    def _start_table_part(self, tag: str, columns: int, rows: int) -> None:
        if tag == "table":
            if self._rows is not None:
                self._nested += 1
                return
            self._end_block()
            self._rows, self._held = [], {}
        elif self._rows is None or self._nested:
            self._inline.append(" ")
        elif tag == "tr":
            self._end_cell()
            self._rows.append([])
        elif tag != "caption":
            self._end_cell()
            if not self._rows:
                self._rows.append([])
            self._spans.append((columns, rows))

    def _end_cell(self) -> None:
        text = cell_text("".join(self._inline)).replace("\\|", "|")
        self._inline.clear()
        self._links.clear()
        if self._rows and self._spans:
            columns, rows = self._spans.pop()
            row, began = self._rows[-1], len(self._rows)
            while self._held.get(len(row), 0) >= began:
                row.append("")
            if rows > 1:
                self._held |= dict.fromkeys(range(len(row), len(row) + columns), began + rows - 1)
            row += [text, *[""] * (columns - 1)]

    def _end_table(self) -> None:
        if self._rows is None:
            return
        if self._nested:
            self._nested -= 1
            return
        self._end_cell()
        rows = [row for row in self._rows if any(row)]
        self._rows = None
        self._spans.clear()
        if rows:
            self.tables.append(rows)
            self._add(markdown_table(rows))


def _span(given: str | None) -> int:
    return min(int(given), 1000) or 1 if given and given.isdecimal() else 1
