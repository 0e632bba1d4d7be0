#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Own or rent? The plan of scenarios/plan-private-or-cloud.json for several shares of its demand.
#
#   docs/planner/examples/own_or_rent.sh [HEADROOM]
set -euo pipefail

headroom=${1:-headroom}
scenario=$(dirname -- "${BASH_SOURCE[0]}")/../../../scenarios/plan-private-or-cloud.json

printf '%-8s %6s %10s %14s %16s\n' demand own cloud 'a month, $' 'all on demand, $'
for growth in 0.05 0.1 0.25 0.5 1 1.5; do
  "$headroom" plan "$scenario" --set replications.workload.growth=$growth --brief --quiet --json - |
    awk -v growth=$growth '
      /^  "recommendation": / { part = "plan" }
      /^  "all_on_demand": / { part = "on demand" }
      /^  "[a-z_]*": / && !/"(recommendation|all_on_demand)"/ { part = "" }
      part == "plan" && /"own": / { own = $2 + 0 }
      part == "plan" && /"cloud": / { cloud = $2 + 0 }
      /"objective": / && part { usd[part] = $2 + 0 }
      END { printf "%-8s %6d %10d %14d %16d\n", growth, own, cloud, usd["plan"], usd["on demand"] }'
done
