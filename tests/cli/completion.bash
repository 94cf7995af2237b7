# What bash offers for a line: bash completion.bash FILE WORD ...; one match a line.
source /usr/share/bash-completion/bash_completion
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
# compopt works inside of a completion alone, and changes no match.
compopt() { :; }
_cprof
printf '%s\n' "${COMPREPLY[@]}"
