#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the traces of the suite, each from a seed, in a folder: this one unless another is named.
#
#   traces/reference/suite.sh HEADROOM [FOLDER]
#
# The generator knows no classes, priorities, deadlines or bursts. What a trace has of them is made of the job's number
# and its times, in whole numbers, so that every awk writes the same.
# shellcheck disable=SC2016 # expressions of awk
set -eu

headroom=$1
folder=${2:-$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)}

generate() {
  "$headroom" trace generate --max-s 172800 --users 40 --limit-min 1 --limit-max 3 "$@"
}

# with COLUMN EXPRESSION: one more column; `n` is the job's number, `hash` one of 0 to 99 that looks random.
with() {
  awk -F, -v OFS=, -v name="$1" "NR == 1 { print \$0, name; next }
    { n = \$1; hash = int((n * 7919 + int(n / 7) * 104729) % 1009 * 100 / 1009); print \$0, ($2) }"
}

# Jobs come together, every two hours.
in_bursts() {
  awk -F, -v OFS=, 'NR > 1 { $2 = int($2 / 7200) * 7200 } { print }'
}

# An arrival after another, whatever the hour; run times close to each other.
generate --seed 101 --count 3000 --load 0.9 --nodes 16 --median-s 3600 --sigma 0.7 --diurnal 0 --tenants 3 \
  >"$folder/steady.csv"

generate --seed 102 --count 3000 --load 0.75 --nodes 16 --median-s 2400 --sigma 1.2 --tenants 3 |
  in_bursts >"$folder/bursty.csv"

# Half of the jobs are done in ten minutes, one in a hundred runs for most of a week.
generate --seed 103 --count 3000 --load 1.3 --nodes 16 --median-s 600 --sigma 2.6 --max-s 604800 --tenants 3 \
  >"$folder/heavy-tailed.csv"

generate --seed 104 --count 2500 --load 0.8 --nodes 16 --median-s 1800 --sigma 1.3 --tenants 3 \
  --gpu-counts 1:0.3,8:0.3,16:0.25,32:0.1,64:0.05 >"$folder/gang-heavy.csv"

generate --seed 105 --count 3000 --load 0.95 --nodes 16 --median-s 1800 --sigma 1.5 --users 120 --tenants 12 |
  with class 'hash < 60 ? "training" : hash < 80 ? "fine-tune" : "interactive"' |
  with priority 'hash < 80 ? 0 : 5' >"$folder/multi-tenant.csv"

# Inference that must not be interrupted beside training with deadlines.
generate --seed 106 --count 3000 --load 0.8 --nodes 16 --median-s 3600 --sigma 1.2 --tenants 4 |
  with class 'hash < 75 ? "training" : "inference"' |
  with deadline_s 'hash < 75 ? int($2) + 4 * int($3) + 3600 : ""' >"$folder/spot-heavy.csv"
