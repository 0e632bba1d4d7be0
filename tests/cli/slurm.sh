#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policy `slurm` replays two recorded runs of a real Slurm.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

records=$project/../shared/slurm-run

# Mean wait of the replay, and the mean wait of a record, in seconds.
case_free_replay() {
  [ -f "$records/fifo.sacct" ] || { echo "skipped: $records is missing"; exit 77; }
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "bf_interval": 1, "bf_resolution": 1, "bf_max_job_test": 1000,
            "default_queue_depth": 1000}}
JSON
  try 0 run s.json --trace "$records/fifo.sacct" --jobs jobs.csv --quiet --check
  for record in fifo fifo-repeat; do
    awk -F'|' 'function seconds(at) { return (substr(at, 12, 2) * 60 + substr(at, 15, 2)) * 60 + substr(at, 18, 2) }
      NR > 1 { print seconds($9) - seconds($7) }' "$records/$record.sacct" >"$record"
  done
  # The mean is within 5 % of that of the runs, and a job differs from its mean over the runs by at most their difference.
  awk -F, 'NR > 1 { print $5 }' jobs.csv | paste - fifo fifo-repeat | awk '
    function distance(a, b) { return a > b ? a - b : b - a }
    { wait += $1; first += $2; second += $3
      error += distance($1, ($2 + $3) / 2); spread += distance($2, $3) }
    END { mean = (first + second) / 2
      printf "mean wait %.1f s, recorded %.1f s; error %.1f s, spread %.1f s\n", wait / NR, mean / NR, error / NR, spread / NR
      exit !(distance(wait, mean) <= 0.05 * mean && error <= spread) }' || fail "the replay is not close to the records"
}

case_shared_pools_are_refused() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "sharing": "mps"}]},
 "policy": {"name": "slurm"}}
JSON
  printf 'submit_s,duration_s,gpus\n0,10,1\n' >t.csv
  try 2 run s.json --trace t.csv
  says stderr "policy 'slurm': pools must have whole GPUs"
  try 2 validate s.json --trace t.csv
  says stderr "policy 'slurm': pools must have whole GPUs"
}

case_import() {
  cat >slurm.conf <<'CONF'
# a comment
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_resolution=1,bf_continue,bf_max_job_test=1000,\
default_queue_depth=1000
PreemptType=preempt/qos
SchedulrType=x
NodeName=DEFAULT Gres=gpu:h100:4
NodeName=n[1-8] CPUs=64 Gres=gpu:a100:8
NodeName=m1
PartitionName=gpu Nodes=ALL OverSubscribe=NO PriorityTier=2
CONF
  printf 'NodeName=n[1-8] Name=gpu Type=a100 File=/dev/nvidia[0-7]\n' >gres.conf
  try 0 import slurm slurm.conf gres.conf -o s.json
  says stderr "slurm.conf:5: PreemptType is not modelled"
  says stderr "slurm.conf:6: unknown parameter 'SchedulrType'"
  says stderr "slurm.conf:8: 'a100' may be several GPU types"
  says stderr "slurm.conf:10: partition 'gpu': PriorityTier is not modelled"
  try 0 validate s.json --trace "$project/traces/reference/steady.csv"
  says stdout "n[1-8]: 8 nodes x 8 A100"
  says stdout "m1: 1 node x 4 H100"
  says stdout "bf_interval=1"
}

case_import_mistakes() {
  printf 'Include other.conf\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: 'Include' is not followed"
  printf 'SchedulerType=sched/backfill\nSchedulerParameters=bf_window=0\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:2: bf_window is '0', expected a whole number from 1 to 43200"
  printf 'NodeName=n[1- Gres=gpu:8\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: NodeName is 'n[1-', expected a list of hosts"
  printf 'ClusterName x\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: found 'ClusterName x', expected PARAMETER=VALUE"
  printf 'ClusterName=x\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "no node has GPUs"
  try 2 import slurn bad.conf -o s.json
  says stderr "did you mean 'slurm'"
  [ ! -e s.json ] || fail "a scenario was written"
}

run_case
