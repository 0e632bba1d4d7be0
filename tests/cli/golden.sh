#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Output compared with what is kept in golden/, byte by byte, less what the wall clock says. After a change that is meant
# to change results: golden.sh HEADROOM CASE --update, and read the difference before it is committed.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# same_as_golden NAME FILE
same_as_golden() {
  if [ "$update" = --update ]; then
    cp "$2" "$here/golden/$1"
  else
    diff -u "$here/golden/$1" "$2" >&2 || fail "$1 differs; if it should, update it with --update"
  fi
}

# From the project's folder, so that paths in the output are the same everywhere.
run_in_project() {
  (cd "$project" && "$headroom" run "$@")
}

run_case
