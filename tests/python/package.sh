#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Python package in a separate environment, without network, and tests it with pytest, with the conformance
# test for a policy in Python, and with the example of the documentation. If Python, cffi or pytest is missing, prints a
# message and exits with code 77 (skipped).
#
#   package.sh SOURCE BUILD    BUILD: the folder with the program and the library
set -euo pipefail

source=$(realpath "$1")
build=$(realpath "$2")

skip() {
  printf 'skipped: %s; the Python package was not tested\n' "$*" >&2
  exit 77
}

# Debian's Python comes first: its packages are those that ./setup.sh packages installs.
python=
for candidate in /usr/bin/python3 "$(command -v python3 || true)"; do
  [ -z "$python" ] && [ -x "$candidate" ] && "$candidate" -c 'import cffi, pytest, pip, venv' 2>/dev/null && python=$candidate
done
[ -n "$python" ] || skip 'a Python with cffi, pytest, pip and venv is missing (packages python3-cffi python3-pytest python3-pip python3-venv)'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv --system-site-packages "$work/env"
export HEADROOM_LIBRARY_DIR=$build HEADROOM_SOURCE=$source HEADROOM_PROGRAM=$build/headroom
export HEADROOM_DATA="$source" PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
"$work/env/bin/pip" install --quiet --no-index --no-deps --no-build-isolation "$source/python"

cd "$work"
"$work/env/bin/python" -m pytest -q -p no:cacheprovider "$source/tests/python"
policy=$source/python/examples/predicted_sjf.py
[ "$(wc -l <"$policy")" -le 50 ] || { echo "$policy is no short example any more" && exit 1; }
if "$work/env/bin/python" -m headroom.plugin "$policy" PredictedSjf -o policy.so 2>plugin.txt; then
  HEADROOM_CONFORMANCE_STEP=${HEADROOM_CONFORMANCE_STEP:-5} "$build/tests/test_conformance" ./policy.so
elif grep -q 'no shared library' plugin.txt; then
  echo 'this Python has no shared library: no plug-in was made'
else
  cat plugin.txt && exit 1
fi
