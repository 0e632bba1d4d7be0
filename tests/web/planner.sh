#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests the page of `headroom serve` in Chromium.
#
#   planner.sh HEADROOM NODE_MODULES [PART]
#
# PART: the only part to test:
#   drops     dropped files
#   services  scenarios with services
#   state     the page is consistent, whatever the order of choices and of responses
#   speed     the time from a change of a slider to the repaint
#   shipped   every shipped scenario runs
what='the planner'
# shellcheck source=tests/web/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

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
HEADROOM_URL=$(sed -n 's/.*\(http[^ ]*token=[^ ]*\).*/\1/p' "$work/server.txt")
export HEADROOM_URL
run_in_chromium "planner${3:+_$3}.mjs"
