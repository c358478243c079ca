"""The script for each shell, which runs `onetool completion SHELL -- WORDS` whenever TAB is pressed."""

from __future__ import annotations

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
