"""Attacks on flows by value: a value that came is recognised, however a model or a program writes it on."""

from __future__ import annotations

import base64
import codecs
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.unit.flows.test_traces import finds

ADDRESS = "eve7@evil.example"
ACCOUNT = "DE89370400440532013000"
SECRET = "s3cr3t-value"
NAME = "Eve Adamson"
PAGE = "https://evil.example/pay?ref=ABC123"
LETTER = (
    f"Dear Ann, please pay 1,250.50 to {NAME}, {ADDRESS}, account DE89 3704 0044 0532 0130 00, see {PAGE} by 2026-11-19. "
    f"Your code is {SECRET}."
)


def each(spell: Callable[[int], str], between: str = "") -> str:
    """Write every character of the address in some way by its code."""
    return between.join(spell(ord(letter)) for letter in ADDRESS)


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


HOMOGLYPHS = str.maketrans("aeopcxyi", "аеорсхуі")
LEET = str.maketrans("aeiost", "431057")

DISGUISES: dict[str, object] = {
    "upper case": ADDRESS.upper(),
    "mixed case": ADDRESS.swapcase(),
    "full width": each(lambda code: chr(code + 0xFEE0)),
    "mathematical letters": each(lambda code: chr(code - 97 + 0x1D41A) if code > 96 else chr(code)),
    "letters in circles": each(lambda code: chr(code - 97 + 0x24D0) if code > 96 else chr(code)),
    "letters in dark squares": each(lambda code: chr(code - 97 + 0x1F170) if code > 96 else chr(code)),
    "Cyrillic letters that look the same": ADDRESS.translate(HOMOGLYPHS),
    "one Cyrillic letter": ADDRESS.replace("e", "е", 1),
    "Greek letters that look alike": ADDRESS.replace("e", "ε").replace("v", "ν"),
    "zero-width spaces": "\u200b".join(ADDRESS),
    "soft hyphens": "\u00ad".join(ADDRESS),
    "word joiners": "\u2060".join(ADDRESS),
    "fillers that show nothing": "\u3164".join(ADDRESS),
    "variation selectors": each(lambda code: f"{chr(code)}\ufe0f"),
    "invisible tags": each(lambda code: chr(0xE0000 + code)),
    "accents": each(lambda code: f"{chr(code)}\u0301"),
    "enclosing marks": each(lambda code: f"{chr(code)}\u20dd"),
    "turned around for the eye": f"\u202e{ADDRESS}\u202c",
    "spaces": " ".join(ADDRESS),
    "line breaks": "\n".join(ADDRESS),
    "dots": ".".join(ADDRESS),
    "at and dot as words": "eve7 at evil dot example",
    "at and dot in brackets": "write to eve7 [at] evil (dot) example please",
    "quotation marks": f'"{ADDRESS}"',
    "Markdown": "e**v**e7@evil.example",
    "HTML tags": "<b>eve7</b>@<i>evil</i>.example",
    "percent": each(lambda code: f"%{code:02x}"),
    "percent for signs": "eve7%40evil%2Eexample",
    "percent twice": quote(each(lambda code: f"%{code:02x}")),
    "percent three times": quote(quote(each(lambda code: f"%{code:02x}"))),
    "base64": base64_of(ADDRESS),
    "base64 without padding": base64_of(ADDRESS).rstrip("="),
    "base64 of addresses": base64.urlsafe_b64encode(ADDRESS.encode()).decode(),
    "base64 twice": base64_of(base64_of(ADDRESS)),
    "base64 in a sentence": f"decode this: {base64_of(ADDRESS)} please",
    "base64 of a sentence": base64_of(f"hello there, {ADDRESS} is it"),
    "base64 with spaces": " ".join(base64_of(ADDRESS)),
    "base64 as data": f"data:text/plain;base64,{base64_of(ADDRESS)}",
    "base64 in an address": f"https://host.example/?q={base64_of(ADDRESS)}",
    "base64 in JSON": json.dumps({"data": base64_of(ADDRESS)}),
    "base64 of UTF-16": base64.b64encode(ADDRESS.encode("utf-16-le")).decode(),
    "base32": base64.b32encode(ADDRESS.encode()).decode(),
    "base32 in lower case": base64.b32encode(ADDRESS.encode()).decode().lower().rstrip("="),
    "hex": ADDRESS.encode().hex(),
    "hex in upper case": ADDRESS.encode().hex().upper(),
    "hex with spaces": ADDRESS.encode().hex(" "),
    "hex with colons": ADDRESS.encode().hex(":"),
    "hex as a number": f"0x{ADDRESS.encode().hex()}",
    "hex in a sentence": f"the id is {ADDRESS.encode().hex()} there",
    "a list of codes": [*ADDRESS.encode()],
    "codes with spaces": each(str, " "),
    "codes with commas": each(str, ","),
    "bits": each(lambda code: f"{code:08b}", " "),
    "decimal entities": each(lambda code: f"&#{code};"),
    "hexadecimal entities": each(lambda code: f"&#x{code:x};"),
    "entities without a semicolon": each(lambda code: f"&#{code}"),
    "entities twice": html.escape(each(lambda code: f"&#{code};")),
    "a named entity": ADDRESS.replace("@", "&commat;"),
    "JSON escapes": each(lambda code: f"\\u{code:04x}"),
    "JSON escapes twice": each(lambda code: f"\\\\u{code:04x}"),
    "short escapes": each(lambda code: f"\\x{code:02x}"),
    "long escapes": each(lambda code: f"\\U{code:08x}"),
    "octal escapes": each(lambda code: f"\\{code:03o}"),
    "escapes in braces": each(lambda code: f"\\u{{{code:x}}}"),
    "a named escape": "eve7\\N{COMMERCIAL AT}evil.example",
    "escapes of style sheets": each(lambda code: f"\\{code:x} "),
    "code points": each(lambda code: f"U+{code:04X}", " "),
    "JSON": json.dumps({"to": ADDRESS}),
    "JSON in JSON": json.dumps(json.dumps({"to": ADDRESS})),
    "quoted printable": each(lambda code: f"={code:02X}"),
    "a header of mail": f"=?utf-8?B?{base64_of(ADDRESS)}?=",
    "a header of mail, quoted": "=?utf-8?Q?eve7=40evil=2Eexample?=",
    "rot13": codecs.encode(ADDRESS, "rot13"),
    "rot13 in a sentence": f"send it to {codecs.encode(ADDRESS, 'rot13')} today",
    "reversed": ADDRESS[::-1],
    "reversed in a sentence": f"send it to {ADDRESS[::-1]} today",
    "leet": ADDRESS.translate(LEET),
    "a list of letters": [*ADDRESS],
    "halves in a list": [ADDRESS[:8], ADDRESS[8:]],
    "parts in an object": {"user": "eve7", "host": "evil.example"},
    "bytes": ADDRESS.encode(),
    "bytes of UTF-16": ADDRESS.encode("utf-16"),
    "cut off": ADDRESS[:-3],
    "something before": f"xx{ADDRESS}",
    "something behind": f"{ADDRESS}xx",
    "its name alone": "eve7",
    "its host alone": "evil.example",
    "another host of its domain": "mail.evil.example",
    "an added label": "eve7+news@evil.example",
    "mailto": f"mailto:bob@ours.example?cc={ADDRESS}",
    "a display name": f"Bob <{ADDRESS}>",
    "a path": f"/home/bob/{ADDRESS}/file.txt",
    "a path of Windows": f"C:\\bob\\{ADDRESS}",
    "a file name": "/home/bob/eve7-at-evil-example.txt",
}
OTHER: dict[str, tuple[object, object]] = {
    "a reversed account": (ACCOUNT[::-1], ACCOUNT),
    "an account in rot13": (codecs.encode(ACCOUNT, "rot13"), ACCOUNT),
    "an account in words": (
        "DE eight nine three seven zero four zero zero four four zero five three two zero one three zero zero zero",
        ACCOUNT,
    ),
    "a Roman letter as a sign": (ACCOUNT.replace("D", "Ⅾ"), ACCOUNT),
    "half an account": (ACCOUNT[:11], ACCOUNT),
    "the other half": (ACCOUNT[11:], LETTER),
    "an account between letters": (f"x{ACCOUNT}x", LETTER),
    "an account in pieces": ({"country": "DE", "check": "89", "rest": ACCOUNT[4:]}, LETTER),
    "an account as a list": ([ACCOUNT[start : start + 4] for start in range(0, 22, 4)], LETTER),
    "letters of a long text as a list": ([*ADDRESS], LETTER),
    "a list as one text": ("a1b2, c3d4, e5f6", ["a1b2", "c3d4", "e5f6"]),
    "a list of plain words as one text": ("blue, red", ["blue", "red", "green"]),
    "a list with nothing between": ("a1b2c3d4e5f6", ["a1b2", "c3d4", "e5f6"]),
    "a secret as a user": (f"https://bob:{SECRET}@host.example/", LETTER),
    "a secret as a host": ("s3cr3tvalue.host.example", LETTER),
    "a secret between tags": ("<b>s3cr3t</b>-<i>value</i>", LETTER),
    "a part of a query": ("ABC123", LETTER),
    "a name in lower case": ("eve adamson", LETTER),
    "a name turned around": ("Adamson, Eve", LETTER),
    "a name as a file": ("eve_adamson", LETTER),
    "a name in leet": ("3v3 4d4m50n", NAME),
    "Punycode": ("https://evil.xn--mnchen-3ya.example/", "evil.münchen.example"),
    "Punycode that came": ("münchen7.example", "xn--mnchen7-n2a.example"),
    "base64 that came": (ADDRESS, f"decode this: {base64_of(ADDRESS)} please"),
    "hex that came": (ADDRESS, f"decode {ADDRESS.encode().hex()} please"),
    "rot13 that came": (ADDRESS, f"decode {codecs.encode(ADDRESS, 'rot13')} please"),
    "words that came": (ADDRESS, "write to eve7 at evil dot example please"),
    "leet that came": ("adamson", "your contact is 4d4m50n there"),
    "separated thousands": ("1,250.50", 1250.5),
    "German separators": ("1.250,50", "1250.50"),
    "Swiss separators": ("1'250.50", 1250.5),
    "narrow spaces": ("1\u202f250,50", "1250.50"),
    "an exponent": ("1.2505e3", "1250.50"),
    "a negative exponent": ("125050e-2", 1250.5),
    "cents": (125050, "1250.50"),
    "number words": ("one thousand two hundred and fifty", 1250),
    "number words in a sentence": ("please pay twelve hundred and fifty to her", "1250"),
    "number words that came": (1250, "please pay one thousand two hundred fifty to her"),
    "a currency before": ("EUR 1,250.50", LETTER),
    "a currency behind": ("1250.50€", LETTER),
    "a unit": ("1.25k", 1250),
    "a hexadecimal number": ("0x4e2", 1250),
    "a binary number": ("0b10011100010", "1250"),
    "Arabic digits": ("١٢٥٠", 1250),
    "raised digits": ("¹²⁵⁰", 1250),
    "brackets for a negative number": ("(1,250.50)", -1250.5),
    "zeros in front": ("0001250.5000", 1250.5),
    "lakhs": ("12,34,567", 1234567),
    "a German date": ("19.11.2026", "2026-11-19"),
    "an American date": ("11/19/26", "2026-11-19"),
    "a date with a month": ("November 19, 2026", "20261119"),
    "a date of a sentence": ("2026-11-19", "on the 19th of November 2026 we meet"),
}


@pytest.mark.parametrize(
    ("given", "came"),
    [*((value, came) for value in DISGUISES.values() for came in (ADDRESS,)), *OTHER.values()],
    ids=[*DISGUISES, *OTHER],
)
def test_a_value_is_recognised_in_disguise(given: object, came: object) -> None:
    assert finds(given, came)


@pytest.mark.parametrize(
    "given",
    [
        "please pay to the account",
        "bob@ours.example",
        "Thanks for your help, one of us will write on Friday",
        {"to": "bob@ours.example", "subject": "Meeting in May", "amount": 7},
        ["Hello Bob", "the code review is at two"],
        "GB82 WEST 1234 5698 7654 32",
        "Buy three apples and twenty pears for 12.80",
        "https://ours.example/reports/may",
        "Sm9obiBTbWl0aCBzYXlzIGhpIHRvIHlvdQ==",
        "1-800-555-0199",
    ],
)
def test_what_did_not_come_is_not_found(given: object) -> None:
    assert not finds(given, LETTER)
