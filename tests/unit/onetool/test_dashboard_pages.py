"""Pages of the dashboard: what others wrote hides nothing there."""

from __future__ import annotations

from onetool.dashboard.pages import Pages


def test_nothing_that_others_wrote_is_invisible_on_a_page() -> None:
    said = "a\u3164\u2800\ufe0f\u202e<b>\x1b[2K" + "\n" * 300 + "end"

    page = bytes(Pages().page("login.html.j2", {"said": said, "issuer": "", "for_many": True}).body).decode()

    assert "a⟨U+3164⟩⟨U+2800⟩⟨U+FE0F⟩⟨U+202E⟩&lt;b&gt;⟨U+001B⟩[2K⟨300 line breaks⟩end" in page
