#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests the page of `headroom serve` in Chromium. If Node.js, Chromium, playwright-core or the page is missing, prints a
# message and exits with code 77 (skipped).
#
#   planner.sh HEADROOM NODE_MODULES [speed]    speed: only the time from a slider to the repaint
set -euo pipefail

headroom=$(realpath "$1")
modules=$(realpath -m "$2")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
project=$(realpath "$here/../..")

skip() {
  printf 'skipped: %s; the planner was not tested\n' "$*" >&2
  exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip 'Chromium is missing (package chromium)'
node=$(command -v node || command -v nodejs) || skip 'node is missing (package nodejs)'
[ -d "$modules/playwright-core" ] || skip "$modules/playwright-core is missing: the build was configured without npm"
unset HEADROOM_DATA NO_COLOR

work=$(mktemp -d)
mkdir "$work/tmp" "$work/in"
TMPDIR=$work/tmp "$headroom" serve "$work/in" >"$work/server.txt" 2>"$work/server.err" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
for _ in $(seq 200); do
  grep -q 'token=' "$work/server.txt" && break
  kill -0 "$server" 2>/dev/null || { grep -q 'without GNU libmicrohttpd' "$work/server.err" && skip 'built without libmicrohttpd'; cat "$work/server.err" >&2; exit 1; }
  sleep 0.05
done
url=$(sed -n 's/.*\(http[^ ]*token=[^ ]*\).*/\1/p' "$work/server.txt")

script=planner.mjs
[ "${3:-}" != speed ] || script=planner_speed.mjs
HEADROOM=$headroom HEADROOM_URL=$url HEADROOM_PROJECT=$project HEADROOM_WORK=$work HEADROOM_PAGES=$work \
  HEADROOM_NODE_MODULES=$modules HEADROOM_CHROMIUM=$chromium "$node" "$here/$script"
