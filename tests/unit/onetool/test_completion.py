"""What a shell is offered, by names that strangers may have chosen."""

from __future__ import annotations

from onetool.cli.completion import Arguments, CommandLineCompleter, Names


def test_no_name_is_offered_that_a_shell_would_take_for_more() -> None:
    servers = ["$(touch x)", "a b", "a'b", "a;b", "ab-1.c", "a\nb", "`x`", "~x", "é", "*"]
    nothing = Arguments(options={}, values={}, words=[], actions={})
    names = Names(tools=[], packs=[], servers=servers)
    completion = CommandLineCompleter({"login": ""}, lambda _: nothing, lambda _: names)

    found = completion.complete(["onetool", "login", ""])

    assert [each.word for each in found] == ["ab-1.c", "é"]
