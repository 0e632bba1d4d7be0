#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests the help and the error messages of the set-up script, which must work from any folder. Builds nothing.
#
#   setup.sh SOURCE
#
# SOURCE: root of the source tree.
set -eu

setup=$1/setup.sh
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
cd "$away"

"$setup" help | grep -q '^usage: ./setup.sh VERB' || {
  echo "FAILED: help does not print the usage"
  exit 1
}
for verb in demo test build install packages help; do
  "$setup" --help | grep -q "^  $verb" || {
    echo "FAILED: help does not list $verb"
    exit 1
  }
done

code=0
"$setup" no-such-verb >out 2>err || code=$?
if [ "$code" -ne 2 ] || ! grep -q "unknown verb 'no-such-verb'" err || [ -s out ]; then
  echo "FAILED: unknown verb: exit code $code, not 2"
  cat out err
  exit 1
fi
rm out err
[ -z "$(ls -A)" ] || {
  echo "FAILED: files were left in the current folder"
  exit 1
}
