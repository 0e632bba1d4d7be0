# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion for headroom. Verbs, options and names are read from the output of the program itself, so they always match it.

# The first word of each line that is not indented.
_headroom_names() {
  "$1" list "$2" 2>/dev/null | sed -n 's/^\([^ ][^ ]*\).*/\1/p'
}

_headroom_options() {
  # shellcheck disable=SC2086 # a verb, and its action if it has one
  "$1" help $2 2>/dev/null | sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
  echo --help
}

_headroom_verbs() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'
}

# The actions of a verb; empty if it has none.
_headroom_actions() {
  "$1" help "$2" 2>/dev/null | sed -n '/^Usage: .* ACTION /,/^.headroom/s/^  \([a-z][a-z]*\)  *.*/\1/p'
}

# The names of the lists of 'headroom list', from its help: a name, followed by its description after two spaces or on the next line.
_headroom_lists() {
  "$1" help list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\)\(  .*\)\{0,1\}$/\1/p'
}

# The names in a list whose first line has the columns' names.
_headroom_column() {
  _headroom_names "$1" "$2" | sed 1d | sort -u
}

# Completes the last name of a list with commas.
_headroom_list() {
  local before=
  case $2 in *,*) before=${2%,*}, ;; esac
  compgen -P "$before" -W "$1" -- "${2##*,}"
}

# The list with the values of the verb's --policies.
_headroom_rules() {
  case $1 in fill) echo placements ;; *) echo policies ;; esac
}

_headroom_operands() {
  case $2 in
  run | why | report | compare | diff | check | plan | tco | advise | sweep | merge | fill | forecast | validate | init) compgen -f -- "$3" ;;
  serve) compgen -d -- "$3" ;;
  list)
    if [ "${COMP_WORDS[2]}" = keys ] && [ "$COMP_CWORD" -gt 2 ]; then compgen -W "$(_headroom_names "$1" keys | grep -v "^[$]")" -- "$3"
    else compgen -W "$(_headroom_lists "$1")" -- "$3"; fi
    ;;
  import) if [ "$COMP_CWORD" -eq 2 ]; then compgen -W "kueue kai volcano kubernetes slurm" -- "$3"; else compgen -f -- "$3"; fi ;;
  conform) if [ "$COMP_CWORD" -eq 2 ]; then compgen -W "kueue kai volcano kubernetes slurm autoscalers" -- "$3"; else compgen -f -- "$3"; fi ;;
  trace | fit) if [ -n "$4" ]; then compgen -f -- "$3"; else compgen -W "$(_headroom_actions "$1" "$2")" -- "$3"; fi ;;
  help)
    if [ "$COMP_CWORD" -eq 2 ]; then compgen -W "$(_headroom_verbs "$1")" -- "$3"
    elif [ "$COMP_CWORD" -eq 3 ]; then compgen -W "$(_headroom_actions "$1" "${COMP_WORDS[2]}")" -- "$3"; fi
    ;;
  esac
}

# The values of an option of an action of `trace`; $1 is ACTION--OPTION.
_headroom_words() {
  case $1 in
  convert--to) compgen -W "csv swf packed" -- "$2" ;;
  scale--by) compgen -W "thin duplicate compress" -- "$2" ;;
  shuffle--what) compgen -W "arrivals rows users" -- "$2" ;;
  check--allow) _headroom_list "$(_headroom_names "${COMP_WORDS[0]}" findings)" "$2" ;;
  anonymise--drop) _headroom_list "$(_headroom_names "${COMP_WORDS[0]}" fields | grep -vx 'submit\|duration\|gpus')" "$2" ;;
  merge--align) compgen -W "clock start" -- "$2" ;;
  esac
}

_headroom() {
  local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
  local previous=${COMP_WORDS[COMP_CWORD - 1]} action='' found=
  if [[ "$verb" = trace || "$verb" = fit ]] && [ "$COMP_CWORD" -gt 2 ]; then action=${COMP_WORDS[2]}; fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    found=$(compgen -W "$(_headroom_verbs "$program") --help --version" -- "$word")
  else
    case $previous in
    --policies) found=$(_headroom_list "$(_headroom_names "$program" "$(_headroom_rules "$verb")")" "$word") ;;
    --policy) found=$(compgen -W "$(_headroom_names "$program" policies)" -- "$word") ;;
    --gpu) found=$(compgen -W "$(_headroom_column "$program" gpus)" -- "$word") ;;
    --cloud) found=$(compgen -W "$(_headroom_column "$program" instances)" -- "$word") ;;
    --from) [ "$verb" != init ] || found=$(compgen -f -- "$word") ;;
    --provider) found=$(compgen -W "$(_headroom_column "$program" instances)" -- "$word") ;;
    --openmetrics-by) found=$(compgen -W "node gpu pool" -- "$word") ;;
    --blocks) found=$(compgen -W "days weeks" -- "$word") ;;
    --like) found=$(compgen -W "philly helios pai acme-seren acme-kalos" -- "$word"; compgen -f -- "$word") ;;
    --to | --by | --what | --align | --allow | --drop) found=$(_headroom_words "$action$previous" "$word") ;;
    --format) found=$(compgen -W "$(_headroom_names "$program" formats)" -- "$word") ;;
    --trace | --cluster | --jobs | --requests | --timeline | --averages | --priorities | --shares | --costs | --json | --perfetto | --openmetrics | --csv | --md | --junit | --db | --report | --baseline | --output | -o | --key-file | --model-out | --token-file) found=$(compgen -f -- "$word") ;;
    *)
      case $word in
      -*) found=$(compgen -W "$(_headroom_options "$program" "$verb $action")" -- "$word") ;;
      *) found=$(_headroom_operands "$program" "$verb" "$word" "$action") ;;
      esac
      ;;
    esac
  fi
  mapfile -t COMPREPLY <<<"$found"
}

complete -o filenames -F _headroom headroom
