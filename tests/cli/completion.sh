#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion in zsh and fish: the same words as the help of the program, for each verb, action and option. Completion in
# bash is tested in usage.sh. If the shell is missing, prints a message and exits with code 77 (skipped).
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

folder=$project/docs/reference/completion

needs() {
  command -v "$1" >/dev/null || { printf 'skipped: %s is missing; its completion was not tested\n' "$1" >&2; exit 77; }
}

# These functions print the verbs, actions and options of a help text, whose lines are ` NAME text` or ` -o, --name
# VALUE text`.
verbs_of_help() {
  "$headroom" --help | awk '/^  [a-z]/ { print $1 }'
}

actions_of_help() {
  "$headroom" help "$1" | awk '/^  [a-z]/ { print $1 }'
}

options_of_help() { # VERB [ACTION]
  "$headroom" help "$@" | awk '/^  -/ { print $1 ~ /^--/ ? $1 : $2 }'
}

# questions: prints one command line per line and, after a tab, a word that must be offered; after "~", a word that must
# not.
questions() {
  local verb action
  for verb in $(verbs_of_help); do
    printf 'headroom \t%s\n' "$verb"
    case $verb in
    trace | fit)
      for action in $(actions_of_help "$verb"); do
        printf 'headroom %s \t%s\n' "$verb" "$action"
        printf 'headroom help %s \t%s\n' "$verb" "$action"
      done
      ;;
    esac
  done
  cat <<'TEXT'
headroom list 	spot-presets
headroom list keys 	cluster.by_gpu
headroom list prices --gpu 	P100
headroom list prices --provider 	hyperstack
headroom init --cloud 	hyperstack
headroom run x --policy 	queue
headroom compare x --policies 	sjf
headroom fill x --policies 	random
headroom fill x --policies 	~sjf
headroom run x --format 	swf
headroom run x --openmetrics-by 	pool
headroom trace convert x --to 	packed
headroom trace scale x --by 	thin
headroom trace merge x --align 	clock
headroom trace check x --allow 	gap
headroom trace anonymise x --drop 	model
headroom trace anonymise x --drop 	~submit
headroom import 	slurm
headroom conform 	autoscalers
headroom help 	plan
headroom help run 	~trace
headroom run 	here.csv
headroom run x --trace 	here.csv
headroom trace check 	here.csv
headroom serve 	here
TEXT
}

# options: prints one command line per line, which requests the options of a verb or an action.
options() {
  local verb action
  for verb in $(verbs_of_help); do
    case $verb in
    trace | fit) for action in $(actions_of_help "$verb"); do printf '%s %s\n' "$verb" "$action"; done ;;
    *) printf '%s\n' "$verb" ;;
    esac
  done
}

# check_answers ANSWERS: compares the offered words with those that are expected. ANSWERS: a file with a line `? COMMAND
# LINE` for each command line, followed by the words that are offered.
check_answers() {
  local line word count=0 of
  while IFS=$'\t' read -r line word; do
    count=$((count + 1))
    awk -v line="? $line" '/^\? / { found = $0 == line; next } found' "$1" >offered
    case $word in
    '~'*) ! grep -qx -- "${word#\~}" offered || fail "'$line' offers ${word#\~}" ;;
    *) grep -qx -- "$word/\{0,1\}" offered || fail "'$line' does not offer $word: $(tr '\n' ' ' <offered)" ;;
    esac
  done < <(questions)
  while read -r of; do
    count=$((count + 1))
    awk -v line="? headroom $of --" '/^\? / { found = $0 == line; next } found' "$1" | sort -u >offered
    # shellcheck disable=SC2086 # a verb, or a verb and its action
    { options_of_help $of; echo --help; } | sort -u >stdout
    cmp -s stdout offered || fail "options of $of: $(comm -3 stdout offered | tr '\n' ' ')"
  done < <(options)
  [ "$count" -ge 90 ] || fail "only $count questions"
}

prepare() {
  PATH=$(dirname "$headroom"):$PATH
  export PATH HOME="$work"
  touch here.csv
  mkdir here
  { questions | cut -f 1 | sort -u; options | sed 's/.*/headroom & --/'; } >lines
}

case_fish() {
  needs fish
  prepare
  cat >ask.fish <<'FISH'
source $argv[1]/headroom.fish
while read -l line
    echo "? $line"
    complete -C "$line" | string replace -r '\t.*' ''
end
FISH
  fish --no-config ask.fish "$folder" <lines >answers 2>stderr || fail 'fish'
  is_empty stderr
  check_answers answers
}

# The line editor of zsh needs a terminal, so the test reads the words that the function passes to the builtins of the
# editor.
case_zsh() {
  needs zsh
  prepare
  cat >ask.zsh <<'ZSH'
compadd() {
  while [[ $# -gt 0 && $1 != -- ]]; do shift; done
  shift
  print -l -- $@
}
compset() { :; }
_files() { if [[ ${1:-} = -/ ]]; then print -l -- *(/N); else print -l -- *(N); fi; }
source $1/_headroom
while IFS= read -r line; do
  print -r -- "? $line"
  words=("${(@s: :)line}")
  CURRENT=$#words
  _headroom | grep -- "^${words[CURRENT]}" || true
done
ZSH
  zsh -f ask.zsh "$folder" <lines >answers 2>stderr || fail 'zsh'
  is_empty stderr
  check_answers answers
  # In the folder of completions, the file is read as the body of the function.
  mkdir functions
  cp "$folder/_headroom" functions/_headroom
  zsh -fc 'fpath=(functions $fpath); autoload -Uz compinit; compinit -D -u; [[ ${_comps[headroom]} = _headroom ]] || exit 1
    compadd() { print -l -- $@; }; words=(headroom v); CURRENT=2; _headroom' >offered 2>stderr || fail 'compinit'
  is_empty stderr
  grep -qx validate offered || fail 'the function of the file offers no verbs'
}

run_case
