#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies the commands and outputs of a page. A block that begins with ```sh run is run as a script and must succeed.
# It is skipped with a message if it uses a real trace that is missing. A block that begins with ```text COMMAND must be
# the output of the command. The comparison ends at the digest, because the lines after it contain wall-clock times. The
# version in the first line is not compared, so that a release does not change every page.
#
#   page.sh SOURCE BUILD PAGE
#
# SOURCE: root of the source tree. BUILD: folder with the program. PAGE: path in SOURCE. Exit code 77: all blocks were
# skipped.
set -eu

source_dir=$1
PATH=$2:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
page=$3
area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT

# Blocks run in a copy of the folders that they use, so that they do not write into the source tree.
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

# missing_trace BLOCK: prints the first missing real trace that the block uses.
missing_trace() {
  grep -o '\.\./shared/traces/[^ ]*' "$1" | while read -r path; do
    [ -e "$area/checkout/$path" ] || {
      echo "$path"
      break
    }
  done
}

compared='1s/^Headroom [0-9.]*: /Headroom: /; /^ *digest/q'
count=0
skipped=0
failures=0
cd "$area/checkout"
for block in "$area"/blocks/*.sh; do
  [ -e "$block" ] || break
  missing=$(missing_trace "$block")
  if [ -n "$missing" ]; then
    echo "*** SKIPPED: real trace $missing is missing ***"
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
  sh -eu "$command" 2>"$area/errors" </dev/null | sed "$compared" >"$area/out"
  sed "$compared" "${command%.command}.expected" | diff - "$area/out" && continue
  failures=$((failures + 1))
  echo "FAILED: the output of a command differs from $page (lines with <): $(cat "$command" "$area/errors")"
done

echo "$page: $count blocks run, $failures failed"
# If all blocks were skipped, the test has checked nothing.
[ "$count" -gt 0 ] || [ "$skipped" -eq 0 ] || exit 77
[ "$count" -gt 0 ] && [ "$failures" -eq 0 ]
