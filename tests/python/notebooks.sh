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
  { echo 'skipped: packages python3-nbconvert python3-ipykernel python3-pandas python3-cffi are missing' && exit 77; }
/usr/bin/python3 -m venv --system-site-packages "$work/env"
export HEADROOM_LIBRARY_DIR=$build HEADROOM_SOURCE=$source PIP_DISABLE_PIP_VERSION_CHECK=1
"$work/env/bin/pip" install --quiet --no-index --no-deps --no-build-isolation "$source/python"
# The kernel of Debian's package runs Debian's Python, which does not have the package.
"$work/env/bin/python" -m ipykernel install --prefix "$work/env" --name python3 >/dev/null 2>&1
export JUPYTER_PATH=$work/env/share/jupyter PYDEVD_DISABLE_FILE_VALIDATION=1
mkdir -p "$build/notebooks"
for notebook in "$source"/python/notebooks/*.ipynb; do
  "$work/env/bin/python" -m nbconvert --to html --execute --output-dir "$build/notebooks" "$notebook"
done
