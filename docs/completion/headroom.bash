# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion for headroom. What can be completed is asked of the program itself, so it cannot fall behind it.

# The first word of each line that is not indented.
_headroom_names() {
  "$1" list "$2" 2>/dev/null | sed -n 's/^\([^ ][^ ]*\).*/\1/p'
}

# Of a verb, or of an action behind its verb.
_headroom_options() {
  # shellcheck disable=SC2086
  "$1" $2 --help 2>/dev/null | sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
  echo --help
}

_headroom_verbs() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'
}

# The lists there are, from the help: a name and, some way behind it, what it is.
_headroom_lists() {
  "$1" help list 2>/dev/null | sed -n 's/^\([a-z-]*\)   *.*/\1/p'
}

# Likewise the names in a list that begins with its columns' names.
_headroom_column() {
  _headroom_names "$1" "$2" | sed 1d | sort -u
}

# Names behind those that a comma ends.
_headroom_list() {
  local before=
  case $2 in *,*) before=${2%,*}, ;; esac
  compgen -P "$before" -W "$1" -- "${2##*,}"
}

# The list that the verb's --policies are of.
_headroom_rules() {
  case $1 in fill) echo placements ;; *) echo policies ;; esac
}

# The actions of `trace`; behind one that reads a trace, files.
_headroom_trace() {
  case ${COMP_WORDS[2]} in
  check | stats) compgen -f -- "$2" ;;
  *) compgen -W "generate stats check" -- "$2" ;;
  esac
}

_headroom_operands() {
  case $2 in
  run | why | report | compare | check | plan | advise | sweep | merge | fill | forecast | validate) compgen -f -- "$3" ;;
  list) compgen -W "$(_headroom_lists "$1")" -- "$3" ;;
  trace) _headroom_trace "$1" "$3" ;;
  help) compgen -W "$(_headroom_verbs "$1")" -- "$3" ;;
  esac
}

_headroom() {
  local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
  local previous=${COMP_WORDS[COMP_CWORD - 1]} found=
  if [ "$COMP_CWORD" -eq 1 ]; then
    found=$(compgen -W "$(_headroom_verbs "$program") --help --version" -- "$word")
  else
    case $previous in
    --policies) found=$(_headroom_list "$(_headroom_names "$program" "$(_headroom_rules "$verb")")" "$word") ;;
    --policy) found=$(compgen -W "$(_headroom_names "$program" policies)" -- "$word") ;;
    --gpu) found=$(compgen -W "$(_headroom_column "$program" gpus)" -- "$word") ;;
    --provider) found=$(compgen -W "$(_headroom_column "$program" instances)" -- "$word") ;;
    --openmetrics-by) found=$(compgen -W "node gpu pool" -- "$word") ;;
    --format) found=$(compgen -W "$(_headroom_names "$program" formats)" -- "$word") ;;
    --trace | --cluster | --jobs | --timeline | --costs | --json | --perfetto | --openmetrics | --csv | --md | --junit | --db | --report | --baseline | --output | -o) found=$(compgen -f -- "$word") ;;
    *)
      case $word in
      -*)
        case "$verb ${COMP_WORDS[2]}" in "trace "[a-z]*) verb="trace ${COMP_WORDS[2]}" ;; esac
        found=$(compgen -W "$(_headroom_options "$program" "$verb")" -- "$word")
        ;;
      *) found=$(_headroom_operands "$program" "$verb" "$word") ;;
      esac
      ;;
    esac
  fi
  mapfile -t COMPREPLY <<<"$found"
}

complete -o filenames -F _headroom headroom
