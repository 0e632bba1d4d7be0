#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the other scripts of this folder. SCRIPT HEADROOM CASE [--update] runs one case in a new, empty folder.
# shellcheck disable=SC2034 # used by the scripts
set -euo pipefail

headroom=$(realpath "$1")
wanted=$2
update=${3:-}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
project=$(realpath "$here/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset HEADROOM_DATA NO_COLOR CLICOLOR_FORCE LC_ALL LC_CTYPE LANG

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  [ -s stdout ] && { echo '--- stdout' >&2; head -c 2000 stdout >&2; }
  [ -s stderr ] && { echo '--- stderr' >&2; head -c 2000 stderr >&2; }
  exit 1
}

# try CODE ARGUMENT...: runs the program, which must end with this exit code. Writes the files stdout and stderr.
try() {
  local expected=$1 code=0
  shift
  "$headroom" "$@" >stdout 2>stderr </dev/null || code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected: headroom $*"
}

# Whether the program was built with a sanitizer: it handles signals itself and needs much more memory and time.
has_sanitizer() {
  grep -qE '__(asan|tsan)_init' "$headroom"
}

# says FILE TEXT: fails unless a line of the file contains the text. matches FILE REGEX: fails unless a line matches.
says() {
  grep -qF -- "$2" "$1" || fail "$1 does not contain: $2"
}

matches() {
  grep -qE -- "$2" "$1" || fail "$1 does not match: $2"
}

is_empty() {
  [ ! -s "$1" ] || fail "$1 is not empty"
}

# width FILE: prints the length of the longest line. The suggested command is not counted, because its length depends on
# paths and options.
width() {
  grep -v '^  next       headroom ' "$1" | wc -L
}

# { reader_is_gone; COMMAND...; } | close_reader: the command's standard output is a pipe without a reader.
reader_is_gone() {
  [ -p gone ] || mkfifo gone 2>/dev/null || :
  : <gone
}

close_reader() {
  [ -p gone ] || mkfifo gone 2>/dev/null || :
  exec <&-
  : >gone
}

# wait_until SECONDS COMMAND...: repeats the command until it succeeds. The test fails if it does not succeed in time.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || fail "not completed within the time: $*"
    sleep 0.02
  done
}

# A cluster of 2 nodes with 8 GPUs each.
small_scenario() {
  cat >s.json <<'JSON'
{
  "name": "small",
  "cluster": { "pools": [{ "name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8 }] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" }
}
JSON
}

run_case() {
  declare -F "case_$wanted" >/dev/null || fail "there is no case '$wanted'"
  "case_$wanted"
}
