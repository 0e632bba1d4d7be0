#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Generates the traces of the suite, each from a fixed seed. They are written to FOLDER; the default is the folder of
# this script.
#
#   traces/reference/suite.sh HEADROOM [FOLDER]
#
# `headroom trace generate` has no classes, priorities, deadlines or bursts. This script computes them from the number
# and the times of each job. It uses whole numbers, so that all implementations of awk write the same text.
# shellcheck disable=SC2016 # expressions of awk
set -eu

headroom=$1
folder=${2:-$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)}

generate() {
  "$headroom" trace generate --max-s 172800 --users 40 --limit-min 1 --limit-max 3 "$@"
}

# with COLUMN EXPRESSION: adds a column. In the expression, `n` is the number of the job, and `hash` is a number from 0
# to 99 that looks random and depends on `n` only.
with() {
  awk -F, -v OFS=, -v name="$1" "NR == 1 { print \$0, name; next }
    { n = \$1; hash = int((n * 7919 + int(n / 7) * 104729) % 1009 * 100 / 1009); print \$0, ($2) }"
}

# Rounds submit times down to multiples of two hours, so that jobs arrive in bursts.
in_bursts() {
  awk -F, -v OFS=, 'NR > 1 { $2 = int($2 / 7200) * 7200 } { print }'
}

# The arrival rate does not depend on the hour, and run times vary little.
generate --seed 101 --count 3000 --load 0.9 --nodes 16 --median-s 3600 --sigma 0.7 --diurnal 0 --tenants 3 \
  >"$folder/steady.csv"

generate --seed 102 --count 3000 --load 0.75 --nodes 16 --median-s 2400 --sigma 1.2 --tenants 3 |
  in_bursts >"$folder/bursty.csv"

# Half of the jobs run for less than ten minutes; one in a hundred runs for more than two days.
generate --seed 103 --count 3000 --load 1.3 --nodes 16 --median-s 600 --sigma 2.6 --max-s 604800 --tenants 3 \
  >"$folder/heavy-tailed.csv"

generate --seed 104 --count 2500 --load 0.8 --nodes 16 --median-s 1800 --sigma 1.3 --tenants 3 \
  --gpu-counts 1:0.3,8:0.3,16:0.25,32:0.1,64:0.05 >"$folder/gang-heavy.csv"

generate --seed 105 --count 3000 --load 0.95 --nodes 16 --median-s 1800 --sigma 1.5 --users 120 --tenants 12 |
  with class 'hash < 60 ? "training" : hash < 80 ? "fine-tune" : "interactive"' |
  with priority 'hash < 80 ? 0 : 5' >"$folder/multi-tenant.csv"

# Training jobs with deadlines, and inference jobs without.
generate --seed 106 --count 3000 --load 0.8 --nodes 16 --median-s 3600 --sigma 1.2 --tenants 4 |
  with class 'hash < 75 ? "training" : "inference"' |
  with deadline_s 'hash < 75 ? int($2) + 4 * int($3) + 3600 : ""' >"$folder/spot-heavy.csv"
