"""`onetool completion SHELL`: the script that makes a shell complete `onetool`, and the answers to it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from onetool.cli import COMMANDS, OK, load_command, module_of
from onetool.completion import (
    Arguments,
    CommandLineCompleter,
    Names,
    describe_arguments,
    recall,
    recall_names,
    stamp_of,
)
from ot.config.paths import state_folder
from ot.errors import ConfigError

_BASH = r"""# onetool completion bash
_onetool() {
    local word about nospace=
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        [[ $word == *. ]] && nospace=1
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    [[ -n $nospace ]] && compopt -o nospace
}
complete -o default -F _onetool onetool
"""

_ZSH = r"""#compdef onetool
# onetool completion zsh
_onetool() {
    local word about
    local -a whole described open
    while IFS=$'\t' read -r word about; do
        if [[ $word == *. ]]; then
            open+=("$word")
        else
            whole+=("$word")
            described+=("${word}${about:+  -- $about}")
        fi
    done < <("${words[1]}" completion zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)
    (( ${#open} )) && compadd -S '' -a open
    (( ${#whole} )) && compadd -l -d described -a whole
    (( ${#open} + ${#whole} )) || _files
}
if [[ $funcstack[1] == _onetool ]]; then
    _onetool "$@"
else
    compdef _onetool onetool
fi
"""

_FISH = r"""# onetool completion fish
function __onetool_complete
    set -l words (commandline --tokens-expanded --cut-at-cursor 2>/dev/null; or commandline -opc) (commandline -ct)
    $words[1] completion fish -- $words 2>/dev/null
end
complete -c onetool -a '(__onetool_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


EPILOG = (
    "bash: put `source <(onetool completion bash)` into ~/.bashrc. zsh: the same with zsh into ~/.zshrc, after "
    "compinit. fish: onetool completion fish > ~/.config/fish/completions/onetool.fish. Tool names come from what "
    "is already known; no server is started."
)
_MEMORY = "completion.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)  # another -- may be among them


def main(options: argparse.Namespace) -> int:
    # Whether argparse keeps the -- in front depends on its version; the next word is the program.
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        sys.stdout.write(SCRIPTS[options.shell])
        return OK
    home = Path.home()
    memory, folder = state_folder(home) / _MEMORY, Path(__file__).parent

    def arguments_of(command: str) -> Arguments:
        stamp = stamp_of([folder / f"{module_of(command)}.py", folder])
        return recall(memory, f"arguments {command}", stamp, lambda: describe_arguments(load_command(command)[1]))

    def names(config: Path | None) -> Names:
        def read() -> Names:
            from onetool.cli.definitions import read_names  # takes a second, and most presses of TAB do not need it

            return read_names(config)

        return recall_names(memory, read, config, cwd=Path.cwd(), home=home)

    try:
        found = CommandLineCompleter(COMMANDS, arguments_of, names).complete(words)
    except ConfigError:  # the command itself will report it
        return OK
    for each in found:
        sys.stdout.write(f"{each.word}\t{each.about}\n" if each.about else f"{each.word}\n")
    return OK
