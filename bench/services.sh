#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# First measures the CPU seconds and the peak memory of a process that simulates a day with 20,000 training jobs and 10
# million requests, with the autoscaler `knative`. Then measures how many requests are served per second of CPU time
# with one, 100 and 1,000 replicas; the trace is that of ../shared/serving.
#
#     bench/services.sh BUILD
set -eu
build=${1:-build/release}
here=$(dirname "$0")
data=${BENCH_DATA:-$build/bench-data}
trace=$here/../../shared/serving/traces/azure_conv.csv.gz

# day: simulates the day. The cluster has 325 nodes, on which the jobs are a load of 0.8, and 15 nodes for the replicas.
day() {
  mkdir -p "$data"
  "$build/headroom" trace generate --seed 1 --count 20000 --nodes 325 --gpus-per-node 8 --load 0.8 --median-s 1800 \
    --sigma 1.2 --output "$data/day.csv"
  cat >"$data/day.json" <<END
{ "name": "day", "trace": { "file": "day.csv" }, "seed": 1,
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 340, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "easy" },
  "services": [ { "name": "chat", "priority": 1, "router": "least-outstanding",
    "requests": { "rate_per_s": 116, "count": 10000000,
      "hourly": [3, 2, 2, 2, 2, 3, 5, 8, 14, 18, 20, 20, 18, 18, 20, 20, 18, 16, 14, 12, 10, 8, 6, 4],
      "prompt_tokens": { "distribution": "log-normal", "mean": 1155, "sigma": 0.9, "max": 4096 },
      "output_tokens": { "distribution": "exponential", "mean": 211, "max": 2048 } },
    "autoscale": { "policy": "knative", "min": 2, "max": 100, "initial": 4, "target": 40 },
    "cold_start": { "container_s": 10, "weights_s": 30, "engine_s": 20 },
    "replica": { "gpus": 1,
      "engine": { "name": "vllm-v1", "max_sequences": 256, "max_batch_tokens": 8192, "block_tokens": 16,
                  "kv_tokens": 400000 },
      "cost": { "fixed_us": 5000, "per_prompt_token_us": 60, "per_sequence_us": 20, "per_context_ktoken_us": 150,
                "integer": true } },
    "slo": { "ttft_ms": 2000, "tpot_ms": 100 } } ] }
END
  "$build/bench/measure" "$build/headroom" run "$data/day.json" --quiet 3>"$data/day.time"
  awk '{ printf "a day with 10 million requests and 20,000 jobs: %.1f s, %.0f MiB\n", $2, $3 / 1024 }' "$data/day.time"
}

day
if [ ! -f "$trace" ]; then
  echo "skipped: $trace is missing" >&2
  exit 0
fi
services=$build/bench/services
for engine in vllm-v1 vllm-v0 sarathi orca-splitwise; do
  "$services" "$trace" 50 1 round-robin "$engine"
done
for router in round-robin power-of-two least-outstanding token-jsq; do
  "$services" "$trace" 100 100 "$router" vllm-v1
done
for router in power-of-two least-outstanding token-jsq; do
  "$services" "$trace" 100 1000 "$router" vllm-v1
done
