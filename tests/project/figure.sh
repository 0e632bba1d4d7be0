#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The picture in the README is what the script draws today.
#
#   figure.sh SOURCE BUILD
set -eu

area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT
"$2/headroom" run "$1/scenarios/demo.json" --quiet --timeline "$area/timeline.csv"
awk -v title=demo -f "$1/docs/figures/timeline_svg.awk" "$area/timeline.csv" | cmp - "$1/docs/figures/demo.svg"
