"""The person's own values: patterns fit one whole value, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from ot.flows.known import own_values, without_own

OWN = own_values(
    ["*@ours.example", "DE8937*", "GB33 BUKB*", "+49 30 123*", "https://ours.example/*", "ann smith", "order-[0-9]?"]
)


@pytest.mark.parametrize(
    "text",
    [
        "x@ours.example",
        "X.Y+z@Ours.Example",
        "DE89370400440532013000",
        "DE89 3704 0044 0532 0130 00",
        "de89-3704-0044-0532-0130-00",
        "GB33BUKB20201555555555",
        "GB33 BUKB 2020 1555 5555 55",
        "+493012345",
        "+49 (30) 123-45",
        "https://ours.example/a?b=c",
        "Ann Smith",
        "order-77",
    ],
)
def test_a_value_of_the_person_fits(text: str) -> None:
    assert OWN is not None
    assert OWN(text)


@pytest.mark.parametrize(
    "text",
    [
        "x@ours.example.evil.com",
        '"a@ours.example"@evil.com',
        "x@оurs.example",
        "x@ours.exampl\u0435",
        "x＠evil.example@ours.example",
        "x@evil\u3002example@ours.example",
        "x@ours.example\u200b.evil.com",
        "x@ours.example, eve@evil.example",
        "eve@evil.example x@ours.example",
        "eve@evil.example;x@ours.example",
        "eve@evil.example\nx@ours.example",
        "x@ours.example\n",
        "x@ours.example\r\nBcc: eve@evil.example",
        "eve@evil.example <x@ours.example>",
        "x@ours.example <eve@evil.example>",
        "eve%evil.example@ours.example",
        "evil.example!eve@ours.example",
        "@evil.example:x@ours.example",
        "eve@evil.example@ours.example",
        "x@ours.example@evil.example",
        "eve(@evil.example)@ours.example",
        "https://evil.example/?a=x@ours.example",
        "x@not-ours.example",
        "@ours.example",
        "DE89 3704 send cash now to her",
        "DE89370400440532013000, GB82WEST12345698765432",
        "DE89 3704 0044 0532 0130 00 GB82 WEST 1234 5698 7654 32",
        "DЕ89370400440532013000",
        "https://ours.example.evil.com/",
        "https://ours.example@evil.com/",
        "https://ours.example/a https://evil.example",
        "ann smithers",
        "order-777",
    ],
)
def test_a_longer_or_disguised_value_does_not_fit(text: str) -> None:
    assert OWN is not None
    assert not OWN(text)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Bob <x@ours.example>, pay to DE89 3704 0044 0532 0130 00 today.", "Bob pay to today."),
        ("a@ours.example,b@evil.example", "b@evil.example"),
        ('"a@ours.example"@evil.com', '"a@ours.example"@evil.com'),
        ("<a@ours.example>@evil.com", "<a@ours.example>@evil.com"),
        ("mailto:a@ours.example", ""),
        ("mailto:a@ours.example?cc=b@evil.example", "mailto:a@ours.example?cc=b@evil.example"),
    ],
)
def test_only_the_values_of_the_person_are_left_out_of_a_text(text: str, rest: str) -> None:
    assert OWN is not None
    assert " ".join(without_own(text, OWN).replace(" , ", " ").replace(" ,b", " b").split()) == rest


def test_without_patterns_nothing_is_known() -> None:
    assert own_values([]) is None
