#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the run time of headroom with that of hand-written loops (bare_fifo, bare_easy) on the same generated traces.
# The processes are measured alternately, each from start to exit. Prints the medians and compares them with the
# targets.
#
#   run.sh BUILD      ROUNDS=5 and BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
rounds=${ROUNDS:-5}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
rm -f "$data"/*.times "$data"/*.out

# The load is 90 % of the GPUs at a constant arrival rate, so on 1,024 GPUs jobs wait but the queue stays short. On
# 100,000 GPUs no job waits at this load; there is also a trace with a load above 100 %.
workload='--seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 --diurnal 0'
limits='--limit-min 1 --limit-max 3'

# generate NAME COUNT NODES LOAD [OPTION...]: generates the trace NAME.csv, unless it exists with the same options.
generate() {
  name=$1 count=$2 nodes=$3 load=$4
  shift 4
  made="$workload $count $nodes $load $*"
  [ -s "$data/$name.csv" ] && [ "$(cat "$data/$name.made" 2>/dev/null)" = "$made" ] && return
  echo "generating $name.csv: $count jobs for $nodes nodes x 8 GPUs"
  # shellcheck disable=SC2086
  "$build/headroom" trace generate $workload --count "$count" --nodes "$nodes" --load "$load" "$@" \
    --output "$data/$name.csv"
  echo "$made" >"$data/$name.made"
}

# scenario NAME TRACE NODES BACKFILL PLACEMENT: writes NAME.json.
scenario() {
  cat >"$data/$1.json" <<END
{ "name": "$1", "trace": { "file": "$2.csv" },
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": $3, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "$4", "placement": "$5" } }
END
}

# timed NAME COMMAND...: runs the command and appends its times to NAME.times.
timed() {
  name=$1
  shift
  "$build/bench/measure" "$@" 3>>"$data/$name.times" >"$data/$name.out"
}

product() {
  timed "$1" "$build/headroom" run "$data/$1.json" --quiet --json -
}

# median NAME FIELD: prints the median of a field of NAME.times.
median() {
  awk -v field="$2" '{ print $field }' "$data/$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# same_wait PRODUCT BARE: fails unless the run PRODUCT of headroom and the run BARE of a hand-written loop have the same
# mean wait. An equal mean wait shows that both did the same work.
same_wait() {
  ours=$(sed -n '/"wait_s"/,/}/s/.*"mean": *\([-+.e0-9]*\).*/\1/p' "$data/$1.out" | head -n 1)
  theirs=$(sed -n 's/.*mean_wait_s //p' "$data/$2.out")
  if ! awk -v a="$ours" -v b="$theirs" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-6 * (1 + b)) }'; then
    echo "FAILED: mean wait of $1 is $ours s, of $2 $theirs s"
    exit 1
  fi
  echo "mean wait of $1 and $2: $ours s"
}

# row WHAT VALUE UNIT TARGET [NOTE]: prints a value and whether it is at most the target.
row() {
  awk -v what="$1" -v value="$2" -v unit="$3" -v target="$4" -v note="${5:-}" 'BEGIN {
    printf "%-52s %9.2f %-6s %9s  %-6s %s\n", what, value, unit, "<= " target, value <= target ? "met" : "MISSED", note }'
}

ratio() {
  awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'
}

generate fifo-1m 1000000 128 0.9
generate fifo-10m 10000000 128 0.9
generate fifo-100k-gpus 1000000 12500 0.9
# shellcheck disable=SC2086
{
  generate easy-1m 1000000 128 0.9 $limits
  generate easy-100k-gpus 1000000 12500 0.9 $limits
  generate easy-100k-gpus-over 1000000 12500 1.05 $limits
}
scenario fifo-1m fifo-1m 128 strict best-fit
scenario fifo-10m fifo-10m 128 strict best-fit
scenario fifo-100k-gpus fifo-100k-gpus 12500 strict best-fit
scenario easy-1m easy-1m 128 easy pool
scenario easy-1m-best-fit easy-1m 128 easy best-fit
scenario easy-100k-gpus easy-100k-gpus 12500 easy pool
scenario easy-100k-gpus-over easy-100k-gpus-over 12500 easy pool

# The jobs of fifo-1m on the same number of nodes: half of them are reserved, a quarter is on demand, and a quarter is
# spot and reclaimed as in a zone of us-east-2. The scenario has prices, checkpoints and all accounts.
cat >"$data/markets-1m.json" <<END
{ "name": "markets-1m", "trace": { "file": "fifo-1m.csv" },
  "cluster": { "pools": [
    { "name": "reserved", "gpu": "A100-80", "nodes": 64, "gpus_per_node": 8, "market": "reserved",
      "usd_per_gpu_hour": 2.20, "on_demand_usd_per_gpu_hour": 3.43 },
    { "name": "on-demand", "gpu": "A100-80", "nodes": 32, "gpus_per_node": 8, "market": "on-demand",
      "usd_per_gpu_hour": 3.43, "boot_s": 120 },
    { "name": "spot", "gpu": "A100-80", "nodes": 32, "gpus_per_node": 8, "market": "spot",
      "usd_per_gpu_hour": 1.20, "on_demand_usd_per_gpu_hour": 3.43, "boot_s": 120,
      "spot": { "model": "on-off", "notice_s": 120, "up": { "distribution": "log-normal", "mu": 8.454, "sigma": 1.63 },
                "down": { "distribution": "log-normal", "mu": 7.912, "sigma": 1.322 } } } ] },
  "classes": { "default": { "checkpoint": { "policy": "on-notice", "write_s": 30 }, "restart_s": 60 } },
  "policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" } }
END

round=1
while [ "$round" -le "$rounds" ]; do
  echo "round $round of $rounds"
  product fifo-1m
  timed bare-fifo "$build/bench/bare_fifo" "$data/fifo-1m.csv" 128 8
  product easy-1m
  timed bare-easy "$build/bench/bare_easy" "$data/easy-1m.csv" 1024
  product fifo-100k-gpus
  product easy-100k-gpus
  product easy-1m-best-fit
  product easy-100k-gpus-over
  product markets-1m
  product fifo-10m
  round=$((round + 1))
done

echo
same_wait fifo-1m bare-fifo
same_wait easy-1m bare-easy
echo
for name in fifo-1m bare-fifo easy-1m bare-easy easy-1m-best-fit fifo-100k-gpus easy-100k-gpus easy-100k-gpus-over \
  markets-1m fifo-10m; do
  printf '%-20s wall %8.3f s   cpu %8.3f s   peak %8.1f MiB\n' "$name" "$(median "$name" 1)" "$(median "$name" 2)" \
    "$(awk -v kib="$(median "$name" 3)" 'BEGIN { print kib / 1024 }')"
done

echo
columns=$("$build/bench/trace_bytes" "$data/fifo-10m.csv")
per_job=$(awk -v large="$(median fifo-10m 3)" -v small="$(median fifo-1m 3)" -v columns="$columns" \
  'BEGIN { print (large - small) * 1024 / 9e6 - columns }')
row 'FIFO strict best-fit, 1 M jobs, 128 x 8 GPUs' "$(median fifo-1m 1)" s 0.6 "bare loop $(median bare-fifo 1) s"
row 'EASY pool, limits 1..3, 1 M jobs, 128 x 8 GPUs' "$(median easy-1m 1)" s 1.5 "naive loop $(median bare-easy 1) s"
row '10 M jobs / 1 M jobs, FIFO' "$(ratio "$(median fifo-10m 1)" "$(median fifo-1m 1)")" times 11
row '100,000 GPUs / 1,024 GPUs per job, FIFO' "$(ratio "$(median fifo-100k-gpus 1)" "$(median fifo-1m 1)")" times 1.5
row '100,000 GPUs / 1,024 GPUs per job, EASY' "$(ratio "$(median easy-100k-gpus 1)" "$(median easy-1m 1)")" times 1.5
row 'markets and accounts on / off, 1 M jobs' "$(ratio "$(median markets-1m 1)" "$(median fifo-1m 1)")" times 1.4
row 'resident beyond the trace'"'"'s columns, per job' "$per_job" bytes 120 "columns $columns bytes"
