#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the other scripts of this folder, which run tests in Chromium. The variable `what` is the subject of the
# tests, for messages. Usage: SCRIPT HEADROOM NODE_MODULES ... If Node.js, Chromium or playwright-core is missing,
# prints a message and exits with code 77 (skipped).
# shellcheck disable=SC2034,SC2154 # used by the scripts, set by the scripts
set -euo pipefail

headroom=$(realpath "$1")
modules=$(realpath -m "$2")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
project=$(realpath "$here/../..")
unset HEADROOM_DATA NO_COLOR

skip() {
  printf 'skipped: %s; %s was not tested\n' "$*" "$what" >&2
  exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip 'Chromium is missing (package chromium)'
node=$(command -v node || command -v nodejs) || skip 'node is missing (package nodejs)'
[ -d "$modules/playwright-core" ] || skip "$modules/playwright-core is missing: the build was configured without npm"

# run_in_chromium SCRIPT: `work` has the pages.
run_in_chromium() {
  HEADROOM=$headroom HEADROOM_PROJECT=$project HEADROOM_WORK=$work HEADROOM_PAGES=$work \
    HEADROOM_NODE_MODULES=$modules HEADROOM_CHROMIUM=$chromium "$node" "$here/$1"
}
