"""Pages as HTML: templates with everything escaped, and headers that forbid loading or running anything else."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup
from starlette.responses import Response

from mcp_core.distribution import VERSION
from mcp_core.visible_text import visible
from onetool.console.clean_text import one_line
from ot.stats.report import TEMPLATES as CHARTS
from ot.stats.wording import compact, duration, percent, precise, size
from ot.text.output import escape_surrogates

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without one, browsers would not send the origin of a form either
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Pages:
    """Renders templates. A character that could hide or reverse the text beside it is shown as a mark."""

    def __init__(self) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([_HERE / "templates", CHARTS]),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_finalize,
        )
        words = (compact, duration, percent, precise, size, local_time, one_line)
        self._environment.filters |= {word.__name__: word for word in words}
        files = [CHARTS / "report.css", CHARTS / "report.js", *sorted((_HERE / "static").iterdir())]
        self.assets = {asset.name: asset for asset in map(_Asset, files)}
        named = {asset.file: asset.name for asset in self.assets.values()}
        self._environment.globals |= {"version": VERSION, "assets": named}

    def page(self, template: str, context: Mapping[str, object], *, status: int = 200) -> Response:
        nonce = secrets.token_urlsafe(16)
        html = self._environment.get_template(template).render({**context, "nonce": nonce})
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        headers = {**HEADERS, "Content-Security-Policy": policy}
        return Response(_encode(html), status, headers, media_type="text/html")

    def part(self, template: str, context: Mapping[str, object], *, known: str = "") -> Response:
        """Return a part of a page that is updated while it is open; status 304 if it has not changed."""
        html = _encode(self._environment.get_template(template).render(context))
        tag = f'"{hashlib.sha256(html).hexdigest()[:32]}"'
        headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'", "ETag": tag}
        return Response(status_code=304, headers=headers) if known == tag else Response(html, 200, headers, "text/html")

    def asset(self, name: str) -> Response | None:
        """Return a file that pages load; its name changes with its content."""
        asset = self.assets.get(name)
        if asset is None:
            return None
        forever = "public, max-age=31536000, immutable"
        headers = {**HEADERS, "Cache-Control": forever, "Content-Security-Policy": "default-src 'none'"}
        return Response(asset.content, headers=headers, media_type=asset.media_type)


class _Asset:
    def __init__(self, file: Path) -> None:
        self.file = file.name
        self.content = file.read_bytes()
        self.name = f"{file.stem}.{hashlib.sha256(self.content).hexdigest()[:12]}{file.suffix}"
        self.media_type = _TYPES[file.suffix]


def _finalize(value: object) -> object:
    return visible(value, lines=True) if isinstance(value, str) and not isinstance(value, Markup) else value


def _encode(html: str) -> bytes:
    return escape_surrogates(html).encode()


def local_time(moment: float | str) -> str:
    """Return a time, in seconds or as the log writes it, in the time zone of the server."""
    try:
        found = datetime.fromisoformat(moment) if isinstance(moment, str) else datetime.fromtimestamp(moment, UTC)
        return found.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"
