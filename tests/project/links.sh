#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies that every relative link in a Markdown file points to an existing file.
#
#   links.sh SOURCE
#
# SOURCE: root of the source tree.
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
echo "links: no broken links"
