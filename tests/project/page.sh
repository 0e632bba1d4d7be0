#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs every block of a page that is fenced as ```sh run; a block that names a real trace is skipped, loudly, where
# the trace is not there. A block fenced as ```text COMMAND must be what the command prints, down to the digest (the
# lines after it tell of the wall clock).
#
#   page.sh SOURCE BUILD PAGE
set -eu

source_dir=$1
PATH=$2:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
page=$3
area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT

# Blocks run in a folder that looks like the checkout, so that what they write does not land in it.
mkdir "$area/blocks" "$area/checkout"
[ ! -d "$source_dir/../shared" ] || ln -s "$source_dir/../shared" "$area/shared"
for entry in scenarios traces docs; do cp -R "$source_dir/$entry" "$area/checkout/$entry"; done

awk -v folder="$area/blocks" '
  /^```sh run[ \t]*$/ { inside = 1; file = sprintf("%s/%03d.sh", folder, ++count); next }
  /^```text headroom / {
    inside = 1
    file = sprintf("%s/%03d.expected", folder, ++count)
    sub(/^```text /, "")
    print > (folder "/" sprintf("%03d.command", count))
    next
  }
  /^```/ { inside = 0 }
  inside { print > file }' "$source_dir/$page"

# missing_trace BLOCK: the first real trace that the block names and that is not there.
missing_trace() {
  grep -o '\.\./shared/traces/[^ ]*' "$1" | while read -r path; do
    [ -e "$area/checkout/$path" ] || {
      echo "$path"
      break
    }
  done
}

count=0
skipped=0
failures=0
cd "$area/checkout"
for block in "$area"/blocks/*.sh; do
  [ -e "$block" ] || break
  missing=$(missing_trace "$block")
  if [ -n "$missing" ]; then
    echo "*** SKIPPED: real trace $missing is not there ***"
    skipped=$((skipped + 1))
    continue
  fi
  count=$((count + 1))
  sh -eu "$block" >"$area/out" 2>&1 </dev/null && continue
  failures=$((failures + 1))
  echo "FAILED:"
  cat "$block" "$area/out"
done
for command in "$area"/blocks/*.command; do
  [ -e "$command" ] || break
  count=$((count + 1))
  sh -eu "$command" 2>"$area/errors" </dev/null | sed '/^ *digest/q' >"$area/out"
  sed '/^ *digest/q' "${command%.command}.expected" | diff - "$area/out" && continue
  failures=$((failures + 1))
  echo "FAILED: $page shows something else than this prints (<: $page): $(cat "$command" "$area/errors")"
done

echo "$page: $count blocks run, $failures failed"
# A page of nothing but real traces that are not there has shown nothing.
[ "$count" -gt 0 ] || [ "$skipped" -eq 0 ] || exit 77
[ "$count" -gt 0 ] && [ "$failures" -eq 0 ]
