#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every link from one document to a file of the tree leads somewhere.
#
#   links.sh SOURCE
set -eu

cd "$1"
broken=$(find . \( -name .git -o -name build \) -prune -o -name '*.md' -print | while read -r page; do
  grep -oE '\]\([^):#]+[)#]' "$page" | sed 's/^..//; s/.$//' | while read -r target; do
    [ -e "$(dirname "$page")/$target" ] || echo "$page: no such file: $target"
  done
done)
if [ -n "$broken" ]; then
  echo "$broken"
  exit 1
fi
echo "links: none is broken"
