#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Executes the notebooks with nbconvert and writes them as pages to BUILD/notebooks.
#
#   notebooks.sh SOURCE BUILD
set -euo pipefail

source=$(realpath "$1")
build=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 -c 'import nbconvert, ipykernel, pandas, cffi' ||
  { echo 'missing: packages python3-nbconvert python3-ipykernel python3-pandas python3-cffi' && exit 1; }
/usr/bin/python3 -m venv --system-site-packages "$work/env"
export HEADROOM_LIBRARY_DIR=$build HEADROOM_SOURCE=$source PIP_DISABLE_PIP_VERSION_CHECK=1
"$work/env/bin/pip" install --quiet --no-index --no-deps --no-build-isolation "$source/python"
mkdir -p "$build/notebooks"
for notebook in "$source"/python/notebooks/*.ipynb; do
  "$work/env/bin/python" -m nbconvert --to html --execute --output-dir "$build/notebooks" "$notebook"
done
