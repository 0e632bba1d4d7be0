#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies that the figure in the README is up to date: the script that draws it must write the same file.
#
#   figure.sh SOURCE BUILD
#
# SOURCE: root of the source tree. BUILD: folder with the program.
set -eu

area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT
"$2/headroom" run "$1/scenarios/demo.json" --quiet --timeline "$area/timeline.csv"
awk -v title=demo -f "$1/docs/figures/timeline_svg.awk" "$area/timeline.csv" | cmp - "$1/docs/figures/demo.svg"
