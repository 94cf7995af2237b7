# What zsh offers for a line: zsh -f completion.zsh FOLDER_OF_cprof LINE; one match a line.
# A second zsh at a pseudo-terminal is sent the line and a tab; its compadd prints what it adds.
zmodload zsh/zpty || exit 1
cat >"$TMPDIR/zshrc" <<'RC'
PROMPT=
fpath=("$COMPLETION_FOLDER" $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^M' undefined
bindkey '^J' undefined
bindkey '^I' complete-word
mark() { echo -E - $'\0' }
compprefuncs=(mark)
comppostfuncs=(mark exit)
zstyle ':completion:*' list-grouped false
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return $?
  fi
  typeset -a hits
  builtin compadd -A hits "$@"
  local hit
  for hit in $hits; do echo -E - "$IPREFIX$hit"; done
  builtin compadd "$@"
}
RC
export COMPLETION_FOLDER=$1
zpty line zsh -f -i
zpty -w line "source $TMPDIR/zshrc"
zpty -n -w line "$2"$'\t'
integer marks=0
local text
while zpty -r line text; do
  text=${text%$'\n'}
  text=${text%$'\r'}
  if [[ $text == *$'\0'* ]]; then
    (( ++marks == 2 )) && exit 0
    continue
  fi
  (( marks == 1 )) && print -r -- "$text"
done
