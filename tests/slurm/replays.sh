#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays the submissions of the first of two recorded FIFO runs, and compares the replays with both runs. Records have
# whole seconds, so each replay adds random fractions of a second to the submit times. Jobs that were submitted in the
# same second remain in order. Prints the mean wait with its standard error, and the error of a job's wait: its
# difference from the mean of the runs. Fails if the mean wait differs by more than 5 %, or if the error is larger than
# the difference between the runs.
#
#   replays.sh BUILD [REPLAYS]    SHARED=folder with slurm-run (../shared); 40 replays unless set
set -euo pipefail

build=$1 replays=${2:-40} data=${SHARED:-../shared}/slurm-run
if [ ! -s "$data/fifo.sacct" ]; then
  echo "$data/fifo.sacct is missing: skipped"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The settings of the runs. SchedulerParameters are listed in the README of the records.
cat >"$folder/fifo.json" <<'END'
{ "name": "fifo", "cluster": { "pools": [ { "name": "n", "gpu": "A100", "nodes": 8, "gpus_per_node": 8 } ] },
  "policy": { "name": "slurm", "bf_interval": 1, "bf_resolution": 1, "bf_max_job_test": 1000,
              "default_queue_depth": 1000, "sched_interval": 1, "batch_sched_delay": 0, "bf_window": 1440 } }
END

# jobs FILE: prints number, submission, start, end, GPUs and limit of each job, in the order of ids. Times are in
# seconds since the first submission.
jobs() {
  awk -F'|' 'function seconds(at) {
      return ((substr(at, 9, 2) * 24 + substr(at, 12, 2)) * 60 + substr(at, 15, 2)) * 60 + substr(at, 18, 2)
    }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { match($column["ReqTRES"], /gres\/gpu=[0-9]+/)
      submit = seconds($column["Submit"])
      if (NR == 2) first = submit
      print NR - 1, submit - first, seconds($column["Start"]) - first, seconds($column["End"]) - first,
        substr($column["ReqTRES"], RSTART + 9, RLENGTH - 9), 60 * $column["TimelimitRaw"] }' "$1"
}
jobs "$data/fifo.sacct" >"$folder/first"
jobs "$data/fifo-repeat.sacct" >"$folder/second"

for ((seed = 1; seed <= replays; seed++)); do
  awk -v state="$((seed * 7919))" '
    function random() { state = (state * 69069 + 1) % 4294967296; return state / 4294967296 } # same in each awk
    BEGIN { for (i = 0; i < 10; i++) random(); print "job_id,submit_s,duration_s,gpus,limit_s" }
    { part = random(); n = ++count[$2]; line[NR] = $0
      for (i = n; i > 1 && parts[$2, i - 1] > part; i--) parts[$2, i] = parts[$2, i - 1]
      parts[$2, i] = part }
    END { for (k = 1; k <= NR; k++) {
      split(line[k], job, " ")
      printf "%d,%.6f,%d,%d,%d\n", job[1], job[2] + parts[job[2], ++taken[job[2]]], job[4] - job[3], job[5], job[6]
    } }' "$folder/first" >"$folder/jobs.csv"
  "$build/headroom" run "$folder/fifo.json" --trace "$folder/jobs.csv" --jobs "$folder/out.csv" --quiet \
    --json "$folder/out.json" >/dev/null
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next } { print $column["job_id"], $column["wait_s"] }' \
    "$folder/out.csv" | sort -n | cut -d' ' -f2 >"$folder/waits.$seed"
done

paste -d' ' "$folder/first" "$folder/second" "$folder"/waits.* | awk '
  function distance(a, b) { return a > b ? a - b : b - a }
  { first = $3 - $2; second = $9 - $8; mean = (first + second) / 2; sum = 0
    real += mean; spread += distance(first, second)
    for (i = 13; i <= NF; i++) { sum += $i; total[i] += $i; error[i] += distance($i, mean)
      for (k = 13; k < i; k++) between += distance($i, $k) }
    of_mean += distance(sum / (NF - 12), mean) }
  END { n = NF - 12; lowest = highest = error[13] / NR
    for (i = 13; i <= NF; i++) { all += total[i] / NR / n; errors += error[i] / NR / n
      if (error[i] / NR < lowest) lowest = error[i] / NR
      if (error[i] / NR > highest) highest = error[i] / NR }
    for (i = 13; i <= NF; i++) squares += (total[i] / NR - all) ^ 2
    deviation = n > 1 ? sqrt(squares / (n - 1)) : 0
    printf "runs: mean wait %.1f s, spread of a job between them %.1f s\n", real / NR, spread / NR
    printf "%d replays: mean wait %.1f s (%+.1f %%), standard error %.1f s, standard deviation %.1f s\n", n, all,
      100 * (all / (real / NR) - 1), deviation / sqrt(n), deviation
    printf "error of a job: %.1f s in single replays (%.1f to %.1f), %.1f s for the mean of all replays\n", errors,
      lowest, highest, of_mean / NR
    if (n > 1) printf "spread of a job between replays: %.1f s\n", between / NR / (n * (n - 1) / 2)
    exit !(distance(all, real / NR) <= 0.05 * real / NR && errors <= spread / NR) }'
