"""Fences: what stands between them is the code, and code that only mentions them is left alone."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.errors import CommandTooLargeError, LegacyPrefixError
from ot.run.fence_processor import MAX_COMMAND, read_command, strip_fences
from tests.properties import unhurried

CODE = "for x in range(3):\n    print(x)\n\nx"


@pytest.mark.scenario("run/robust-fence-stripping/triple-backtick-with-language")
@pytest.mark.parametrize("language", ["python", "py", "Python", "python3", "pycon", "text", "python ", "{python}"])
def test_a_fence_that_names_a_language_is_taken_off(language: str) -> None:
    assert strip_fences(f"```{language}\n{CODE}\n```") == CODE


@pytest.mark.parametrize(
    "description",
    [
        "python title=a.py",
        'python title="my file.py"',
        "python filename=src/main.py showLineNumbers",
        "python:src/main.py",
        "python showLineNumbers",
        "py linenums='1' hl_lines=\"2 3\"",
        "python {1,3-4} title='x'",
        "python main.py",
        "text title=output",
    ],
)
def test_what_describes_a_fence_is_no_code(description: str) -> None:
    assert strip_fences(f"```{description}\n{CODE}\n```") == CODE


@pytest.mark.parametrize(
    "code",
    ["x = 1", "print(1)", "a=1", "id(3)", "name", "title = 3", "wrap(1)", "path=f(1)", "live.x", "copy=1", "a.py()"],
)
def test_code_beside_the_language_stays_code(code: str) -> None:
    assert strip_fences(f"```python {code}\n{CODE}\n```") == f"{code}\n{CODE}"
    assert strip_fences(f"```x:int\n{CODE}\n```") == f"x:int\n{CODE}"


@pytest.mark.parametrize("margin", ["  ", "    ", "\t"])
def test_an_indented_fence_over_code_that_is_not_leaves_it_alone(margin: str) -> None:
    assert strip_fences(f"{margin}```python\n{CODE}\n{margin}```") == CODE


@pytest.mark.scenario("run/robust-fence-stripping/triple-backtick-without-language")
@pytest.mark.parametrize("fence", ["```", "````", "~~~", "~~~~"])
def test_a_bare_fence_is_taken_off(fence: str) -> None:
    assert strip_fences(f"{fence}\n{CODE}\n{fence}") == CODE


@pytest.mark.scenario("run/robust-fence-stripping/inline-backticks")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("`1 + 1`", "1 + 1"),
        (" `1 + 1`\n", "1 + 1"),
        ("``1 + 1``", "1 + 1"),
        ("`print('`')`", "print('`')"),
        ("`a = 1\na`", "a = 1\na"),
    ],
)
def test_inline_backticks_around_the_whole_command_are_taken_off(command: str, code: str) -> None:
    assert strip_fences(command) == code


@pytest.mark.parametrize("command", ["`", "``", "`a` and `b`", "`a", "x`"])
def test_backticks_that_enclose_nothing_whole_stay(command: str) -> None:
    assert strip_fences(command) == command


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("```python 1 + 1```", "1 + 1"),
        ("``` 1 + 1 ```", "1 + 1"),
        ("```1 + 1```", "1 + 1"),
        ("```x```", "x"),
        ("```python 1 + 1", "1 + 1"),
        ("Please run ```python 1 + 1``` now", "1 + 1"),
        ("~~~ 1 + 1 ~~~", "1 + 1"),
        ("~~~python 1 + 1~~~", "1 + 1"),
    ],
)
def test_a_fence_on_one_line_is_taken_off(command: str, code: str) -> None:
    assert strip_fences(command) == code


@pytest.mark.parametrize(
    "command",
    [
        f"Here's what I'd run:\n\n```python\n{CODE}\n```\n\nThat isn't all.",
        f"Run this: ```python\n{CODE}\n``` and tell me",
        f"# The plan\n\n~~~py\n{CODE}\n~~~\nDone.",
        f"```python\n{CODE}\n```\nIt prints:\n```text\n0\n1\n```",
        f"It 'says \"so:\n```\n{CODE}\n```",
    ],
    ids=["prose", "same line", "tildes", "output of another language", "quotes"],
)
def test_text_around_a_fence_is_no_code(command: str) -> None:
    assert strip_fences(command) == CODE


@pytest.mark.scenario("run/robust-fence-stripping/nested-fences-preserved")
@pytest.mark.parametrize(
    "code",
    [
        'text = """\n```python\nx\n```\n"""\ntext',
        "text = '''\n~~~\nx\n~~~\n'''",
        'text = "```python\\n1\\n```"',
        "x = 1  # a ``` in a comment\nx",
        "# ```python\nx",
        "text = 'it\\'s ```'",
        'a = "\\\\"\nb = """\n```\n"""',
        "r'''\\\n```\n'''",
        'f"""\n```{x}\n"""',
        "'one' \\\n'```'",
    ],
)
def test_fences_that_are_data_stay_with_and_without_a_fence_around_the_code(code: str) -> None:
    assert strip_fences(code) == code
    assert strip_fences(f"```python\n{code}\n```") == code
    assert strip_fences(f"Like this:\n```\n{code}\n```\nThat's it.") == code


def test_a_longer_fence_keeps_the_shorter_ones_inside() -> None:
    inner = "```python\n1 + 1\n```"

    assert strip_fences(f"````\n{inner}\n````") == inner
    assert strip_fences(f"~~~\n{inner}\n~~~") == inner


@pytest.mark.scenario("run/robust-fence-stripping/no-fences")
@pytest.mark.parametrize(
    "command", ["", "1 + 1", CODE, f"\n  {CODE}\n", "a = 1\r\na\r\n", "~~~x", "~~~5\n", "y = (\n~~~x\n)", "x = '`'"]
)
def test_a_command_without_fences_is_unchanged(command: str) -> None:
    assert strip_fences(command) == command
    assert read_command(command) == command


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("```python\na = 1\na", "a = 1\na"),
        ("```python\na = 1\na\n", "a = 1\na"),
        ("~~~python\na = 1\na\n", "a = 1\na"),
        ("```python\na = 1\na```", "a = 1\na"),
        ("```python\na = '''", "a = '''"),
    ],
)
def test_a_fence_without_end_reaches_to_the_end(command: str, code: str) -> None:
    assert strip_fences(command) == code


def test_windows_line_ends_stay_inside_the_code() -> None:
    assert strip_fences("Run:\r\n```python\r\na = 1\r\na\r\n```\r\n") == "a = 1\r\na"


@pytest.mark.parametrize("margin", ["  ", "    ", "\t"])
def test_an_indented_fence_takes_its_own_indentation_from_the_code_and_no_more(margin: str) -> None:
    command = f"1. This:\n{margin}```python\n{margin}if x:\n{margin}    y\n\n{margin}```"

    assert strip_fences(command) == "if x:\n    y\n"


def test_code_less_indented_than_its_fence_keeps_what_it_has() -> None:
    assert strip_fences("    ```\n  a\n        b\n    ```") == "a\n    b"


def test_the_first_line_inside_the_fence_is_line_one() -> None:
    assert strip_fences("Some text\n```python\n\nx = 1\n```").split("\n").index("x = 1") == 1


def test_several_fences_are_one_program_on_the_lines_they_had() -> None:
    code = strip_fences("First:\n```python\na = 1\n```\nthen\n```\na\n```")

    assert code.split("\n") == ["a = 1", "", "", "", "a"]


def test_several_fences_on_one_line_are_one_program() -> None:
    assert strip_fences("```a = 1``` ```a```") == "a = 1\na"


def test_a_fence_that_opens_where_an_end_was_due_begins_the_next_part() -> None:
    assert strip_fences("```python\na = 1\n```python\na\n```") == "a = 1\n\na"


def test_code_on_the_line_of_the_fence_is_not_lost() -> None:
    assert strip_fences("```python a = 1\na\n```") == "a = 1\na"
    assert strip_fences("```print(1)\nprint(2)\n```") == "print(1)\nprint(2)"


def test_an_empty_fence_is_an_empty_program() -> None:
    assert strip_fences("```python\n```") == ""
    assert strip_fences("```") == ""


def test_a_command_in_which_no_code_can_be_found_is_left_to_the_compiler() -> None:
    command = "See issue #12 ```python\n1\n```"

    assert strip_fences(command) == command


@pytest.mark.parametrize("odd", ["\ufeff", "\u200b", "\u2060\ufeff"])
def test_invisible_characters_in_front_do_not_hide_a_fence_or_prefix(odd: str) -> None:
    assert read_command(f"{odd}```python{odd}\n1\n```") == "1"
    assert read_command(f"{odd}__ot 1") == "1"
    assert read_command(f"{odd}1") == "1"


def test_odd_spaces_beside_tildes_that_are_operators_become_spaces_too() -> None:
    assert read_command("~~~x\u00a0+ 1") == "~~~x + 1"


def test_what_follows_a_fence_that_ends_inside_a_line_opens_no_other() -> None:
    assert read_command("```\na = 1 ```python\nb = 2") == "a = 1"


def test_odd_spaces_become_spaces_outside_strings_only() -> None:
    assert read_command("if x:\n\u00a0\u00a0\u00a0\u00a0y = '\u00a0'  # \u00a0") == "if x:\n    y = '\u00a0'  # \u00a0"
    assert read_command("1\u200b +\u202f1") == "1 + 1"


@pytest.mark.parametrize(
    "command",
    [
        f"__ot ```python\n{CODE}\n```",
        f"__onetool\n```\n{CODE}\n```",
        f"```python\n__ot {CODE}\n```",
        f"__ot Please run\n~~~\n{CODE}\n~~~",
    ],
)
def test_a_prefix_may_stand_before_the_fence_or_inside_it(command: str) -> None:
    assert read_command(command) == CODE


def test_a_snippet_may_stand_in_a_fence() -> None:
    assert read_command("```\n$wsq q=a\n```") == "$wsq q=a"
    assert read_command("`$wsq q='a\u00a0b'`") == "$wsq q='a\u00a0b'"


@pytest.mark.parametrize("filler", ["x", "é"])
def test_a_command_past_the_size_limit_is_refused_by_its_bytes(filler: str) -> None:
    fits = "#" + filler * ((MAX_COMMAND - 1) // len(filler.encode()))

    assert read_command(fits) == fits
    with pytest.raises(CommandTooLargeError) as caught:
        read_command(fits + filler)

    assert caught.value.limit == MAX_COMMAND
    assert caught.value.size == len((fits + filler).encode())


def test_the_legacy_prefix_is_refused_inside_a_fence_too() -> None:
    with pytest.raises(LegacyPrefixError):
        read_command("```\n!onetool upper(text='x')\n```")


PIECES = ["`", "``", "```", "````", "~~~", "~~~~", "'", '"', "'''", '"""', "\\", "#", "\n", "\r\n", " ", "\t"]
PIECES += ["python", "py", "x = 1", "{", "}", ">>> ", "... ", "__ot", "$", "\ufeff", "\u00a0", "é", "r'", 'f"""']
MARKUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@unhurried
@given(MARKUP)
def test_any_text_is_read_without_failing(text: str) -> None:
    assert isinstance(read_command(text), str)


def _statements(text: str) -> list[str]:
    """Statements that hold the text as data, in every way in which Python can."""
    bare = text.replace("\\", "").replace("\r", "")
    return [
        f"x = {text!r}",
        f'"""{bare.replace(chr(34), "")}"""',
        f"x = (\n'''{bare.replace(chr(39), '')}''')",
        f"if x:  # {' '.join(bare.split())}\n    x",
        f"f({bare.encode()!r}, ~~~x)",
    ]


PROGRAMS = st.lists(MARKUP.flatmap(lambda text: st.sampled_from(_statements(text))), min_size=1, max_size=5)


@unhurried
@given(PROGRAMS.map("\n".join), st.sampled_from(["```", "````", "~~~"]))
def test_valid_code_is_unchanged_and_survives_any_fence_around_it(code: str, fence: str) -> None:
    ast.parse(code)

    assert strip_fences(code) == code
    assert strip_fences(f"{fence}python\n{code}\n{fence}") == code
    assert strip_fences(f"It's this:\n\n{fence}\n{code}\n{fence}\nThat's all.") == code


HOSTILE = {
    "backticks": "`",
    "bare fences": "```\n",
    "one-line fences": "```a``` ",
    "fences that never match": "```` ``` ",
    "tildes as fences": "~~~\n",
    "tildes as operators": "~~~x\n",
    "tildes of two lengths": "~~~~x\n~~~\n",
    "quotes": "'",
    "escaped quotes": "'\\",
    "escaped triple quotes": '\\"""',
    "fences with open strings": '```\n"""\n```\n\\"""\n',
    "backslashes": "\\",
    "spaces": " ",
    "spaces on lines": "\n ",
    "prompts": ">>> a\n",
    "braces": "{",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("start", ["", "```python\n", '```\n"""', "~~~\n", "`", ">>> "])
def test_hostile_text_is_read_in_linear_time(piece: str, start: str) -> None:
    """Quadratic time would be a minute or more for each of these."""
    length = MAX_COMMAND // 8
    command = (start + piece * length)[:length]

    assert len(read_command(command)) <= len(command)


def test_code_of_several_fences_stands_as_many_lines_apart_as_in_the_command() -> None:
    command = "```python\nfirst = 1\nsecond = 2\n```\nand\n\n```python\nthird = 3\n```"

    lines, code = command.split("\n"), strip_fences(command).split("\n")

    assert code.index("third = 3") - code.index("first = 1") == lines.index("third = 3") - lines.index("first = 1")
