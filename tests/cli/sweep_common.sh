#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the scripts that sweep: a random scenario, and grids for it.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# Owned nodes, and spot nodes with random interruptions and a random price. Two tenants, two classes.
sweep_scenario() {
  cat >s.json <<'JSON'
{
  "name": "swept",
  "trace": { "file": "jobs.csv" },
  "cluster": { "pools": [
    { "name": "own", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "owned", "usd_per_gpu_hour": 2 },
    { "name": "spot", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 1,
      "on_demand_usd_per_gpu_hour": 4, "boot_s": 60,
      "spot": { "model": "exponential", "rate_per_h": 0.1, "notice_s": 30,
                "price": { "model": "ou", "volatility": 0.2, "reversion_h": 5 } } }
  ] },
  "policy": { "name": "queue", "backfill": "easy" },
  "seed": 7,
  "horizon_s": 1000000
}
JSON
  head -n 300 "$project/traces/reference/demo.csv" >jobs.csv
}

# A grid of 12 points with three runs each.
small_grid() {
  sweep_scenario
  cat >g.json <<'JSON'
{
  "scenario": "s.json",
  "axes": [
    { "name": "nodes", "path": "cluster.pools.0.nodes", "values": [4, 6, 8] },
    { "name": "rate", "path": "cluster.pools.1.spot.rate_per_h", "from": 0.1, "to": 0.2, "step": 0.1 },
    { "name": "order", "settings": [
      { "label": "first", "set": ["policy.name=fifo"] },
      { "label": "short", "set": ["policy.name=sjf", "policy.backfill=skip"] } ] }
  ],
  "replications": 3
}
JSON
}

# A grid that takes about a second and can be killed meanwhile: 60 points with four runs each.
long_grid() {
  small_grid
  sed -i 's/"step": 0.1/"step": 0.01111111111111/; s/"replications": 3/"replications": 4/' g.json
}

# A grid of four points. The cost of the third exceeds the maximum.
failing_grid() {
  small_grid
  cat >g.json <<'JSON'
{
  "scenario": "s.json",
  "set": ["costs.storage={\"usd_per_gb_month\": 1e9, \"datasets\": [{ \"gb\": 0 }]}"],
  "axes": [{ "name": "gb", "path": "costs.storage.datasets.0.gb", "values": [1, 2, 100000, 3] }]
}
JSON
}

# grown FILE: waits until a running sweep has added runs to the file.
grown() {
  wait_until 100 has_runs "$1"
}

has_runs() {
  [ "$(stat -c %s "$1-wal" 2>/dev/null || echo 0)" -ge 200000 ]
}
