#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom fill`: rules, output files, threads, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

# refuses TEXT ARGUMENT...: the input is rejected with this text, and no file is written.
refuses() {
  local text=$1
  shift
  mkdir -p out
  try 2 fill "$@" --json out/f.json --csv out/f.csv --md out/f.md
  is_empty stdout
  says stderr "$text"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

case_rows() {
  try 0 fill "$demo" --policies fgd,random --seeds 3 --to 1.2 --csv fill.csv --quiet
  is_empty stdout
  is_empty stderr
  [ "$(head -n 1 fill.csv)" = policy,seed,arrived_pct,alloc_pct,frag_pct,failed ] || fail "the column names differ"
  [ "$(wc -l <fill.csv)" -eq $((1 + 2 * 3 * 120)) ] || fail "there is no row for each whole percent"
  cut -d, -f1,2 fill.csv | sed 1d | uniq -c | tr -s ' ' | sed 's/^ //' >groups
  printf '120 fgd,1\n120 fgd,2\n120 fgd,3\n120 random,1\n120 random,2\n120 random,3\n' | cmp -s - groups ||
    fail "rule by rule, seed by seed: $(cat groups)"
}

case_threads_do_not_matter() {
  for threads in 1 2 7; do
    try 0 fill "$demo" --policies fgd,gpu-clustering,random --seeds 4 --threads $threads -q --csv "$threads.csv" \
      --json "$threads.json" --md "$threads.md"
  done
  if ! { cmp 1.csv 2.csv && cmp 1.csv 7.csv && cmp 1.md 7.md; }; then
    fail "the output depends on the number of threads"
  fi
  for threads in 1 7; do sed '/"perf"/,$d' "$threads.json" >"$threads.figures"; done
  cmp 1.figures 7.figures || fail "the JSON depends on the number of threads"
}

# The runs of a seed do not depend on the other seeds and rules.
case_seeds_stand_alone() {
  try 0 fill "$demo" --policies random,fgd --seeds 3 --csv all.csv -q
  try 0 fill "$demo" --policies fgd --seeds 1 --seed 3 --csv one.csv -q
  grep '^fgd,3,' all.csv >wanted
  sed 1d one.csv | cmp -s - wanted || fail "seed 3 alone is a different run"
}

case_standard_output() {
  try 0 fill "$demo" --policies best-fit --seeds 1 --to 1 --csv -
  [ "$(wc -l <stdout)" -eq 101 ] || fail "more than the CSV"
  try 0 fill "$demo" --policies best-fit --seeds 1 --json -
  says stdout '"name": "best-fit",'
  matches stdout '"margin": null'
  try 0 fill "$demo" --policies best-fit,spread --md -
  [ "$(wc -l <stdout)" -eq 4 ] || fail "more than the Markdown table"
}

case_every_placement_is_listed() {
  try 0 list placements
  for rule in fgd weighted-best-fit dot-product gpu-packing gpu-clustering best-fit worst-fit first-fit spread random \
    kube-default kube-most-allocated; do
    matches stdout "^$rule( |$)"
    says "$project/docs/researcher/fill.md" "\`$rule\`"
  done
}

case_what_is_refused() {
  refuses "fill: --policies A,B,... is missing" "$demo"
  refuses "--policies fgd,rndom: unknown placement rule 'rndom'; did you mean 'random'?" "$demo" --policies fgd,rndom
  refuses "--policies fgd,,random: empty rule name" "$demo" --policies fgd,,random
  refuses "--policies fgd,fgd: fgd is listed twice" "$demo" --policies fgd,fgd
  refuses "names no trace; set one with --trace FILE" "$project/scenarios/openb.json" --policies fgd
  refuses "no.csv" "$demo" --policies fgd --trace no.csv
  try 2 fill "$demo" --policies fgd --to 11
  says stderr "--to"
  try 2 fill "$demo" --policies fgd --seeds 0
  says stderr "--seeds"
  try 2 fill "$demo" --policies fgd --csv same --json same
  [ ! -e same ] || fail "a file remains: same"
  printf 'submit_s,duration_s,gpus\n0,1,0\n' >none.csv
  refuses "none.csv: no job requests a GPU" "$demo" --policies fgd --trace none.csv
  printf 'submit_s,duration_s,gpus,within\n0,1,8,node\n' >near.csv
  refuses "near.csv: jobs have topology constraints ('within')" "$demo" --policies fgd --trace near.csv
}

# A pod list without times cannot be replayed, but it can fill a cluster.
case_pod_list_without_times() {
  printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,1,500\nb,1000,1024,2,1000\n' >pods.csv
  try 2 run "$project/scenarios/openb.json" --trace pods.csv
  says stderr "cannot be replayed"
  try 0 fill "$project/scenarios/openb.json" --trace pods.csv --policies first-fit --seeds 1 --to 0.5 --csv - -q
  says stdout "first-fit,1,50,50.0"
}

run_case
