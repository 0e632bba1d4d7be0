#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom diff`: keys, waits by queue and decisions of two scenarios; output files; bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# One node of two GPUs. Job 1 has the node for 100 s. Job 2 needs the whole node; job 3, of team b, needs one GPU for
# 10 s. With strict order, job 3 waits for job 2. In B, a second node is free.
two_scenarios() {
  printf 'job_id,submit_s,duration_s,gpus,tenant\n1,0,100,1,a\n2,10,100,2,a\n3,20,10,1,b\n' >jobs.csv
  cat >a.json <<'JSON'
{ "name": "a", "cluster": { "pools": [{ "name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 2 }] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "strict" } }
JSON
  sed 's/"nodes": 1/"nodes": 2/; s/"name": "a"/"name": "b"/' a.json >b.json
}

case_change() {
  two_scenarios
  try 0 diff a.json b.json --trace jobs.csv
  is_empty stderr
  matches stdout '^  cluster\.pools\[p\]\.nodes +1 -> 2$'
  matches stdout '^a +mean +45\.0 s +0 s +-45\.0 s +-100 %$'
  matches stdout '^  2 jobs +p50 +45\.0 s +0 s +-45\.0 s'
  matches stdout '^b +mean +3 min +0 s +-3 min'
  says stdout 'first decision that differs: at 10.0 s'
  tr -s ' \n' ' ' <stdout >one-line
  says one-line 'A does not do this. Job 2 starts 1 min 30 s later, at 1 min 40 s. It waited 1 min 30 s'
  says one-line 'B starts job 2 of a (2 GPUs, submitted at 10.0 s).'
  says stdout '  next       headroom why b.json --trace jobs.csv'
  [ "$(width stdout)" -le 80 ] || fail 'wider than 80 columns'
}

# The same with A and B exchanged.
case_mirrored() {
  two_scenarios
  try 0 diff b.json a.json --trace jobs.csv
  matches stdout '^  cluster\.pools\[p\]\.nodes +2 -> 1$'
  tr -s ' \n' ' ' <stdout >one-line
  says one-line 'B does not do this. Job 2 starts 1 min 30 s later'
  says one-line 'A starts job 2 of a'
}

case_no_difference() {
  two_scenarios
  try 0 diff a.json a.json --trace jobs.csv
  says stdout 'The scenarios have the same keys and values.'
  says stdout 'All decisions are the same'
  try 0 diff a.json a.json --trace jobs.csv --json -
  says stdout '"first_difference": null'
  says stdout '"keys": []'
}

# Jobs start at the same times, on other nodes.
case_other_nodes() {
  two_scenarios
  sed 's/"backfill"/"placement": "worst-fit", "backfill"/' b.json >worst.json
  sed 's/"backfill"/"placement": "best-fit", "backfill"/' b.json >best.json
  printf 'job_id,submit_s,duration_s,gpus\nx,0,100,1\ny,0,100,1\n' >jobs.csv
  try 0 diff best.json worst.json --trace jobs.csv
  says stdout 'All jobs start and stop at the same times. The first job on other nodes is y,'
}

# A job that never starts in B, and one that B rejects.
case_never_starts() {
  two_scenarios
  try 0 diff a.json a.json --trace jobs.csv --set horizon_s=50
  says stdout 'Jobs unfinished'
  sed 's/"gpus_per_node": 2/"gpus_per_node": 1/' a.json >small.json
  try 0 diff a.json small.json --trace jobs.csv
  tr -s ' \n' ' ' <stdout >one-line
  says one-line 'B rejects job 2 of a'
  matches stdout '^ +started +2 +1 +-1'
  try 0 diff a.json b.json --trace jobs.csv --set horizon_s=90
  tr -s ' \n' ' ' <stdout >one-line
  says one-line 'A does not do this. Job 2 does not start any more.'
}

case_files_and_quiet() {
  two_scenarios
  try 0 diff a.json b.json --trace jobs.csv --quiet --json one.json --threads 1
  is_empty stdout
  is_empty stderr
  try 0 diff a.json b.json --trace jobs.csv -q --json two.json --threads 2
  for file in one two; do awk '/^  "perf": \{/ { exit } { print }' $file.json >$file; done
  cmp one two || fail 'the JSON depends on the number of threads'
  says one.json '"name": "cluster.pools[p].nodes"'
  says one.json '"path": "cluster.pools.0.nodes"'
  says one.json '"queues_are": "tenant"'
  try 0 diff a.json b.json --trace jobs.csv --json -
  says stdout '"at_s": 10'
  is_empty stderr
}

# Options apply to both scenarios, and both have the seed of A.
case_options() {
  two_scenarios
  try 0 diff a.json b.json --trace jobs.csv --policy easy --seed 4
  says stdout '  seed       4'
  [ "$(grep -c 'backfill easy' stdout)" -eq 2 ] || fail 'the policy is not that of both runs'
  sed 's/"policy"/"seed": 3, "policy"/' b.json >seed.json
  try 0 diff a.json seed.json --trace jobs.csv
  says stderr 'note: both runs have the seed of a.json, '
}

case_bad_input() {
  two_scenarios
  try 2 diff a.json
  says stderr "headroom: diff: B.json is missing"
  try 2 diff a.json b.json c.json
  says stderr "unexpected argument 'c.json'"
  try 2 diff a.json b.json
  says stderr 'a.json: names no trace; set one with --trace FILE'
  try 2 diff a.json missing.json --trace jobs.csv
  says stderr 'missing.json'
  echo '{ "name": "x", "cluster": 3 }' >wrong.json
  try 2 diff a.json wrong.json --trace jobs.csv
  says stderr 'wrong.json:1:'
  cp jobs.csv other.csv
  sed 's/"policy"/"trace": {"file": "jobs.csv"}, "policy"/' a.json >ta.json
  sed 's/"policy"/"trace": {"file": "other.csv"}, "policy"/' b.json >tb.json
  try 2 diff ta.json tb.json
  says stderr 'name different traces'
  try 0 diff ta.json b.json
  try 0 diff a.json tb.json
  try 2 diff ta.json b.json --json jobs.csv
  says stderr '--json jobs.csv: cannot be written'
  try 2 diff a.json b.json --trace jobs.csv --policy nonsense
  says stderr "nonsense"
  is_empty stdout
}

# Other columns: the trace is read twice. Other jobs cannot be compared.
case_columns() {
  two_scenarios
  printf 'submit_s,duration_s,gpus,short_s,t\n0,100,1,50,x\n10,100,2,50,y\n' >jobs.csv
  sed 's/"policy"/"trace": {"columns": {"duration": "short_s"}}, "policy"/' a.json >short.json
  try 0 diff a.json short.json --trace jobs.csv
  matches stdout '^Completion time, mean +2 min 25 s +'
  sed 's/"policy"/"trace": {"columns": {"submit": "short_s"}}, "policy"/' a.json >other.json
  try 2 diff a.json other.json --trace jobs.csv
  says stderr 'read different jobs'
}

# The output shows the beginning and the end of a long path.
case_long_paths() {
  two_scenarios
  cat >q.json <<'JSON'
{ "cluster": { "pools": [{ "name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 2 }] },
  "policy": { "name": "queue" },
  "kueue": { "flavors": [{ "name": "f" }], "cluster_queues": [{ "name": "the-queue-of-team-a", "cohort": "c",
    "resource_groups": [{ "flavors": [{ "name": "f", "resources": [
      { "name": "nvidia.com/gpu", "nominal_quota": 2, "borrowing_limit": 3 }] }] }] }] } }
JSON
  sed 's/"borrowing_limit": 3/"borrowing_limit": 4/' q.json >r.json
  try 0 diff q.json r.json --trace jobs.csv
  matches stdout '^  kueue\.cluster_queues\[the-queue-of-team.*\.\.\..*\[nvidia\.com/gpu\]\.borrowing_limit$'
  matches stdout '^ +3 -> 4$'
  [ "$(width stdout)" -le 80 ] || fail 'wider than 80 columns'
}

# Warnings name the scenario to which they apply. Those of both are printed once.
case_warnings_name_their_scenario() {
  for gpu in A100-80 H100; do
    echo '{ "name": "s", "policy": { "name": "queue" }, "cluster": { "pools": [
      { "name": "p", "gpu": "'$gpu'", "nodes": 1, "gpus_per_node": 8 } ] } }' >$gpu.json
  done
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,H100\n0,10,1,A100-80\n0,10,1,T4\n0,10,1,\n' >types.csv
  try 0 diff A100-80.json H100.json --trace types.csv
  says stderr 'warning: A100-80.json: 2 of 4 jobs (50.0 %) can never run'
  says stderr "warning: A100-80.json: no-such-gpu-type, 2 jobs: no pool has an acceptable GPU type; requested: 'H100'"
  says stderr 'warning: H100.json: 2 of 4 jobs (50.0 %) can never run'
  says stderr "warning: H100.json: 1 job requests GPU type 'A100-80'"
  ! grep -q 'json: warning' stderr || fail 'two prefixes'
  try 0 diff A100-80.json A100-80.json --trace types.csv
  says stderr 'warning: both scenarios: 2 of 4 jobs (50.0 %) can never run'
  [ "$(grep -c 'can never run and are' stderr)" -eq 1 ] || fail 'a warning twice'
}

# why reports rejected jobs first, as run does. They do not wait.
case_why_warns_of_rejected_jobs() {
  echo '{ "name": "s", "policy": { "name": "queue" }, "cluster": { "pools": [
    { "name": "p", "gpu": "T4", "nodes": 1, "gpus_per_node": 8 } ] } }' >s.json
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,H100\n0,10,1,T4\n' >types.csv
  try 0 run s.json --trace types.csv
  head -2 stderr >run
  for options in '' --quiet '--job 2'; do
    # shellcheck disable=SC2086 # an option and its value
    try 0 why s.json --trace types.csv $options
    head -2 stderr | cmp -s - run || fail "$options: the warnings differ from those of run"
  done
  head -1 run | grep -qF 'warning: 1 of 2 jobs (50.0 %) can never run' || fail 'run does not warn'
}

# The suggested next command repeats the experiment.
case_next_step_of_compare_keeps_replications() {
  echo '{ "name": "s", "policy": { "name": "queue" }, "cluster": { "pools": [
    { "name": "p", "gpu": "T4", "nodes": 1, "gpus_per_node": 8 } ] } }' >s.json
  printf 'submit_s,duration_s,gpus\n0,10,1\n0,10,1\n' >two.csv
  try 0 compare s.json --trace two.csv --policies fifo,sjf --replications 1
  says stdout 'compare s.json --trace two.csv --policies fifo,sjf --replications 1 --report compare.html'
  try 0 compare s.json --trace two.csv --policies fifo,sjf
  says stdout '--policies fifo,sjf --report compare.html'
}

run_case
