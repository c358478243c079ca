"""Findings of `doctor` and `serve --check` as text: a light for each thing, and the command that mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict

from onetool.cli import FAILED, OK
from onetool.cli.printing import Style, paint, say, say_json, visible
from onetool.doctor.finding import Finding, Light

_MARKS: dict[Light, tuple[str, Style]] = {
    Light.GREEN: ("ok  ", "green"),
    Light.YELLOW: ("note", "yellow"),
    Light.RED: ("FAIL", "red"),
}


def tell_findings(found: Iterable[Finding], *, as_json: bool) -> int:
    """Tell findings as they come, or all together; gives the status of the command: a red one is a failure."""
    tell: Callable[[Finding], None] = (lambda _: None) if as_json else _Teller()
    findings = []
    for finding in found:
        findings.append(finding)
        tell(finding)
    count = Counter(finding.light for finding in findings)
    if as_json:
        say_json({"ok": not count[Light.RED], "findings": [asdict(finding) for finding in findings]})
    else:
        say(f"{count[Light.GREEN]} green, {count[Light.YELLOW]} yellow, {count[Light.RED]} red")
    return FAILED if count[Light.RED] else OK


class _Teller:
    """Tells findings as they come, under the name of their area."""

    def __init__(self) -> None:
        self._area = ""

    def __call__(self, finding: Finding) -> None:
        if finding.area != self._area:
            self._area = finding.area
            say(paint(finding.area, "bold"))
        mark, style = _MARKS[finding.light]
        say(f"  {paint(mark, style)} {visible(' '.join(finding.text.split()))}")
        if finding.fix:
            say(f"       {paint('try:', 'dim')} {visible(finding.fix)}")
