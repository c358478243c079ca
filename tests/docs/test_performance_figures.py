"""No page claims a speed, a size or a cost that the benchmarks did not print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRINTED = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
# The records of decisions give the figures that shaped them.
APART = {ROOT / "docs" / "benchmarks.md", *(ROOT / "docs" / "decisions").glob("*.md")}
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in APART)]

_NUMBER = r"(?:\d[\d.,]*|an?|two|three|ten|twenty|a few|a hundred|a tenth of a|half a)"
_TIME = r"(?:ms|µs|milliseconds?|microseconds?|seconds?|s)"
# A limit ("at most 5 seconds") or a setting ("30 s (`http.request_timeout`)") is no claim; these are.
CLAIMS = re.compile(
    rf"""
    \b(?:takes?|took|costs?|adds?|answers?|starts?|opens?|opened|drawn)\b[^.;|]{{0,60}}?\b(?:in|only|about|just|under)?\s*
        {_NUMBER}\s(?:ms|µs|milliseconds?|microseconds?)\b
    | \b(?:takes?|took|costs?)\s(?:only\s|just\s)?(?:about\s){_NUMBER}\s{_TIME}\b
    | \bin\s(?:about\s)?{_NUMBER}\s(?:ms|µs|milliseconds?|microseconds?)\b
    | \bin\s(?:milli|micro)seconds\b
    | \b{_NUMBER}\s(?:times|×|x)\s(?:as\s\w+|faster|slower|fewer|cheaper|less|more\stokens)\b
    | \b\d[\d.,]*\s?(?:%|percent)\s(?:faster|slower|fewer|cheaper|less|lower|of\sthe\stokens)\b
    | \bsaves?\s(?:about\s)?\d[\d.,]*\s?(?:%|percent|tokens)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def find_claims(text: str) -> list[str]:
    """Find claims in what a page says in sentences, not in the output of programs that it shows."""
    prose = re.sub(r"^```.*?^```|^ {4}.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(match.group().split()) for match in CLAIMS.finditer(prose)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_about_performance_are_those_that_were_printed(page: Path) -> None:
    unprinted = [claim for claim in find_claims(page.read_text(encoding="utf-8")) if not _printed(claim)]

    assert unprinted == [], "docs/benchmarks.md has what the benchmarks printed; a page may quote it, or link to it"


def _printed(claim: str) -> bool:
    return all(number in PRINTED for number in re.findall(r"\d[\d.,]*", claim)) and bool(re.search(r"\d", claim))


@pytest.mark.parametrize(
    "claim",
    [
        "It is opened for their first request, in about 10 ms, and closed later.",
        "A run takes 3 ms.",
        "The first Tab takes about a second.",
        "Mermaid is drawn by it in milliseconds.",
        "It is 30 times cheaper.",
        "That is 96 % fewer tokens.",
    ],
)
def test_a_claim_is_recognised(claim: str) -> None:
    assert len(find_claims(claim)) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "A request must have arrived within `http.request_timeout` (30 s).",
        "An answer has at most about 2,000 tokens.",
        "One result may have up to 64 MB.",
        "```text\nA run takes 3 ms.\n```",
    ],
)
def test_a_limit_or_a_program_s_output_is_no_claim(sentence: str) -> None:
    assert find_claims(sentence) == []
