#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The set-up script answers from any folder and refuses what it does not know, without building anything.
#
#   setup.sh SOURCE
set -eu

setup=$1/setup.sh
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
cd "$away"

"$setup" help | grep -q '^usage: ./setup.sh VERB' || {
  echo "FAILED: help does not say how it is used"
  exit 1
}
for verb in demo test build install packages help; do
  "$setup" --help | grep -q "^  $verb" || {
    echo "FAILED: help does not name $verb"
    exit 1
  }
done

code=0
"$setup" no-such-verb >out 2>err || code=$?
if [ "$code" -ne 2 ] || ! grep -q "unknown verb 'no-such-verb'" err || [ -s out ]; then
  echo "FAILED: an unknown verb: exit $code"
  cat out err
  exit 1
fi
rm out err
[ -z "$(ls -A)" ] || {
  echo "FAILED: it left files in the caller's folder"
  exit 1
}
