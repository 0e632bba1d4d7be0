#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Exports for other tools: their options, and whether the tools accept the files.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

case_metrics_options() {
  try 2 run "$demo" --openmetrics-step 5min
  says stderr '--openmetrics-step needs --openmetrics FILE'
  try 2 run "$demo" --openmetrics-by gpu
  says stderr '--openmetrics-by needs --openmetrics FILE'
  for step in 5 min -5min 0s 5weeks 1e99d nan; do
    try 2 run "$demo" --openmetrics m.txt --openmetrics-step "$step"
    says stderr "--openmetrics-step $step: expected a time"
    says stderr "such as 30s, 5min, 2h or 1d"
  done
  try 2 run "$demo" --openmetrics m.txt --openmetrics-by nodes
  says stderr "unknown --openmetrics-by 'nodes'; did you mean 'node'?"
  try 2 run "$demo" --openmetrics m.txt --json m.txt
  says stderr 'use two files'
  try 2 run "$demo" --openmetrics m.txt --replications 3
  says stderr '--openmetrics needs a single run'
  [ ! -e m.txt ] || fail "a file was written"
}

case_metrics_step_is_told() {
  try 0 run "$demo" --openmetrics m.txt
  says stderr 'note: --openmetrics: one sample every 5 min, 2146 points in time, '
  samples=$(grep -oE '[0-9]+ samples' stderr)
  [ "$samples" = "$(grep -cv '^#' m.txt) samples" ] || fail "it wrote $(grep -cv '^#' m.txt) samples, not $samples"
  try 0 run "$demo" --openmetrics m.txt --openmetrics-step 90min
  is_empty stderr
  # The first job of the trace is submitted at 571.303 s of the trace's clock.
  says m.txt 'slurm_gpus_total 64 571.303'
  says m.txt 'slurm_gpus_total 64 5971.303'
}

case_metrics_by() {
  try 0 run "$demo" --quiet --openmetrics m.txt --openmetrics-step 1d --openmetrics-by gpu
  says m.txt 'DCGM_FI_DEV_GPU_UTIL{gpu="7",UUID="GPU-00000003-0000-0000-0000-000000000007",device="nvidia7",modelName="A100-80",Hostname="node-3",instance="node-3:9400",pool="a100"}'
  try 0 run "$demo" --quiet --openmetrics m.txt --openmetrics-step 1d --openmetrics-by pool
  says m.txt 'DCGM_FI_DEV_GPU_UTIL{gpu="all",UUID="a100",device="all",modelName="A100-80",Hostname="a100",instance="a100:9400",pool="a100"}'
}

# Files that one run writes together equal files that are written one by one.
case_together_as_alone() {
  mkdir a b
  try 0 run "$demo" --quiet --perfetto a/p --openmetrics a/o --md a/m --jobs a/j --timeline a/t --averages a/a
  for option in perfetto:p openmetrics:o md:m jobs:j timeline:t averages:a; do
    try 0 run "$demo" --quiet --"${option%:*}" "b/${option#*:}"
  done
  diff -r a b >/dev/null || fail "files that are written together differ from files that are written alone"
  try 0 run "$demo" --check --perfetto -
  cmp -s stdout a/p || fail "--check or standard output changes the trace"
}

# promtool is in Debian's package `prometheus`.
case_promtool() {
  command -v promtool >/dev/null || {
    echo '*** SKIPPED: promtool (Debian package prometheus) is not there ***' >&2
    exit 77
  }
  for scenario in demo reserved-spot-mix shared-inference; do
    try 0 run "$project/scenarios/$scenario.json" --quiet --openmetrics m.txt --openmetrics-step 3h
    promtool tsdb create-blocks-from openmetrics --max-block-duration=720h m.txt "$scenario" >stdout 2>stderr ||
      fail "promtool rejects $scenario"
    [ "$(awk 'NR > 1 { sum += $5 } END { print sum }' stdout)" -eq "$(grep -cv '^#' m.txt)" ] ||
      fail "$scenario: samples are missing"
  done
}

# The means of --averages are those of the rows of --timeline.
case_averages() {
  try 0 run "$demo" --quiet --timeline t.csv --averages a.json --intervals 50
  tail -n +2 t.csv | awk -F, -v n=50 '
    { at[NR] = $1; for (c = 2; c <= 5; c++) value[NR, c] = $c }
    END {
      width = (at[NR] - at[1]) / n
      for (r = NR; r >= 1; r--) at[r] -= at[1]
      for (r = 1; r < NR; r++)
        for (i = int(at[r] / width); i < n && i * width < at[r + 1]; i++) {
          from = i * width > at[r] ? i * width : at[r]
          to = (i + 1) * width < at[r + 1] ? (i + 1) * width : at[r + 1]
          for (c = 2; c <= 5; c++) sum[c, i] += value[r, c] * (to - from)
        }
      for (c = 2; c <= 5; c++) for (i = 0; i < n; i++) printf "%.4g\n", sum[c, i] / width
    }' >wanted
  tr -d '\n' <a.json | grep -oE '"(waiting|running|gpus_allocated|gpus_total)":\[[^]]*' | sed 's/.*\[//' | tr ',' '\n' |
    awk '{ printf "%.4g\n", $1 }' >found
  [ "$(wc -l <found)" -eq 200 ] || fail "$(wc -l <found) means"
  diff wanted found >stderr || fail "the means differ from those of the timeline"
}

run_case
