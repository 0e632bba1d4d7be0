#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares output with the files in golden/, byte by byte, without run times and version. After an intended change of
# results: run golden.sh HEADROOM CASE --update, and review the difference before committing it.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# same_as_golden FILE: compares the file with the one of the same name in golden/.
same_as_golden() {
  if [ "$update" = --update ]; then
    cp "$1" "$here/golden/$1"
  else
    diff -u "$here/golden/$1" "$1" >&2 || fail "$1 differs; if it should, update it with --update"
  fi
}

# The table without its last lines, which report the run time.
without_speed() {
  awk '/^  speed / { exit } { sub(/^Headroom [0-9.]+/, "Headroom VERSION"); print }'
}

without_perf() {
  awk '/^  "perf": \{/ { inside = 1 } !inside { sub(/"headroom": "[0-9.]+"/, "\"headroom\": \"VERSION\""); print }
       /^  \}/ { inside = 0 }'
}

# Runs in the folder of the project, so that paths in the output are the same everywhere.
run_in_project() {
  (cd "$project" && "$headroom" run "$@") 2>stderr
}

case_tiny_table() {
  run_in_project tests/cli/golden/tiny.json | without_speed >tiny.txt
  cat stderr >>tiny.txt
  same_as_golden tiny.txt
}

case_tiny_files() {
  run_in_project tests/cli/golden/tiny.json --quiet --jobs "$work/tiny_jobs.csv" --timeline "$work/tiny_timeline.csv" \
    --json "$work/summary" --perfetto "$work/trace"
  sed 's/"headroom":"[0-9.]*"/"headroom":"VERSION"/' trace >tiny_perfetto.json
  same_as_golden tiny_perfetto.json
  without_perf <summary >tiny_summary.json
  same_as_golden tiny_jobs.csv
  same_as_golden tiny_timeline.csv
  same_as_golden tiny_summary.json
}

# The first jobs of each shipped model, and the checksum of some thousand jobs.
case_like() {
  for name in philly helios pai acme-seren acme-kalos; do
    "$headroom" trace generate --like $name --count 3000 --seed 7 --load 0.8 --nodes 40 >like_$name.csv
    echo "$name $(cksum <like_$name.csv)"
    head -n 6 like_$name.csv
  done >like.txt
  same_as_golden like.txt
}

case_demo_table() {
  LC_ALL=C.UTF-8 run_in_project scenarios/demo.json | without_speed >demo.txt
  same_as_golden demo.txt
}

case_tiny_streamed() {
  run_in_project tests/cli/golden/tiny.json --policy queue:backfill=skip --stream | without_speed >tiny_streamed.txt
  run_in_project tests/cli/golden/tiny.json --policy queue:backfill=skip --stream --json - | without_perf >tiny_streamed.json
  same_as_golden tiny_streamed.txt
  same_as_golden tiny_streamed.json
}

case_tiny_packed() {
  (cd "$project" && "$headroom" trace pack tests/cli/golden/tiny.csv -o "$work/tiny.hrt" --json -) >tiny_packed.json
  same_as_golden tiny_packed.json
}

case_demo_files() {
  run_in_project scenarios/demo.json --quiet --jobs "$work/jobs.csv" --json "$work/summary" --md "$work/summary.md"
  sed 's/Headroom [0-9.]*/Headroom VERSION/' summary.md >demo.md
  same_as_golden demo.md
  without_perf <summary >demo_summary.json
  # The checksum of all jobs, and the first jobs to show what changed.
  { cksum <jobs.csv; head -n 100 jobs.csv; } >demo_jobs.txt
  same_as_golden demo_summary.json
  same_as_golden demo_jobs.txt
}

# The table of three policies, and all metrics. Another test compares their summaries with those of `run`.
case_demo_compare() {
  (cd "$project" && "$headroom" compare scenarios/demo.json --policies fifo,sjf,conservative --csv "$work/demo_compare.csv" \
    --md "$work/demo_compare.md") 2>stderr | without_speed >demo_compare.txt
  is_empty stderr
  same_as_golden demo_compare.txt
  same_as_golden demo_compare.csv
  same_as_golden demo_compare.md
}

# The report and the first rows of the output of each transformation of a trace.
case_traces() {
  cp "$project/traces/reference/agency.csv" "$project/traces/reference/demo.csv" .
  echo 'a key of no worth' >key
  made() {
    echo "headroom trace $*"
    "$headroom" trace "$@" -o made.csv 2>&1
    head -n 4 made.csv
    echo
  }
  {
    made convert agency.csv
    made cut agency.csv --from 7d --to 14d --tenant retail
    made scale agency.csv --load 0.5 --seed 2
    made scale agency.csv --load 2 --jitter 2h --seed 2
    made scale agency.csv --load 3 --by compress
    made merge agency.csv demo.csv --align start --tenant-prefix --merge-tenants agency/retail+agency/media=shops
    made anonymise demo.csv --key-file key --drop limit
    made shuffle demo.csv --seed 2
    made shuffle demo.csv --what users --seed 2
    "$headroom" trace convert agency.csv -o made.swf 2>&1
    head -n 8 made.swf
    "$headroom" trace convert agency.csv -o made.swf --json -
  } >traces_all 2>traces_notes
  sed 's/"headroom": "[0-9.]*"/"headroom": "VERSION"/' traces_all >traces.txt
  same_as_golden traces.txt
}

# The forecasts for a month of jobs of three clients and for twenty weeks of generated jobs.
case_forecast() {
  "$headroom" trace generate --count 4000 --seed 3 --load 0.5 --nodes 2 --median-s 7200 --max-s 86400 --diurnal 0.6 \
    --tenants 2 -o weeks.csv
  (cd "$project" && "$headroom" forecast traces/reference/agency.csv --json "$work/all") 2>&1 | without_speed >forecast.txt
  "$headroom" forecast weeks.csv --months 6 --csv rows 2>&1 | without_speed >>forecast.txt
  # Every fourth week.
  { cksum <rows; awk -F, 'NR == 1 || $3 % 4 == 1' rows; } >forecast.csv
  without_perf <all | cksum >>forecast.csv
  same_as_golden forecast.txt
  same_as_golden forecast.csv
}

# A trace with faults of each kind, checked against a cluster.
case_trace_check() {
  "$headroom" trace generate --count 400 --seed 5 --load 0.4 --nodes 2 --max-s 20000 -o some.csv
  # Two bad rows, a duplicate id, an unknown GPU type, a job that never fits, limits that equal run times.
  awk -F, -v OFS=, 'NR == 1 { print $0, "limit_s", "gpu_type"; next }
    { print $0, $3, NR % 50 == 9 ? "A10" : "" }
    NR == 7 { print; $1 = 900; $4 = -1; print $0, 5, ""; $4 = "many"; print $0, 5, ""; $1 = 901; $4 = 512; print $0, 5, "" }' \
    some.csv | awk -F, 'NF == 8' >jobs.csv
  "$headroom" trace check jobs.csv --cluster "$project/scenarios/demo.json" --json check.json -o check.txt 2>&1 && fail "no alert"
  without_speed <check.txt >trace_check.txt
  without_perf <check.json >trace_check.json
  same_as_golden trace_check.txt
  same_as_golden trace_check.json
}

# A plan of a deterministic scenario.
case_plan() {
  (cd "$project" && "$headroom" plan scenarios/plan-reserved-share.json) 2>stderr | without_speed >plan.txt
  cat stderr >>plan.txt
  same_as_golden plan.txt
}

# One spot node of four GPUs, alternately up for 60 min and down for 30 min. The start of the cycle is random; the node
# goes down first at u = 0:01:08.339. It is up from u + 30 min to u + 90 min, and from u + 120 min to u + 180 min.
#   first    4 GPUs for 40 min, submitted at 0. Stopped at u, all work lost; waits 30 min for capacity; runs from u + 30
#            to u + 70. Cost: 4 GPUs x (1:08 + 40 min) at $1 = $2.74.
#   second   2 GPUs for 40 min, tenant b, submitted at 10 min. Waits for capacity until u + 70 (61:08 min); stopped at
#            u + 90, 20 min lost; waits 30 min for capacity; runs from u + 120 to u + 160. Cost: 2 x 60 min = $2.00.
#   third    2 GPUs, tenant b (its quota: 2 GPUs), submitted at 15 min. Waits for capacity until u + 70 (56:08 min),
#            for quota while second runs (20 min), for capacity (30 min), and for quota (40 min). It starts at u + 160,
#            after 86:08 + 60 min in all.
#   huge     8 GPUs: rejected.
case_why() {
  for question in '--job first' '--job second' '--job third' '--job huge' '' '--tenant b' '--slowest 2'; do
    echo "why $question"
    # shellcheck disable=SC2086
    (cd "$project" && "$headroom" why tests/cli/golden/why.json $question) 2>stderr | without_speed
    [ "$(wc -L <stderr)" -gt 0 ] || fail "no note on how the node boots"
  done >why.txt
  (cd "$project" && "$headroom" why tests/cli/golden/why.json -q --job third --json -) | without_perf >why_job.json
  (cd "$project" && "$headroom" why tests/cli/golden/why.json -q --slowest 1 --json -) | without_perf >why_all.json
  [ "$(width why.txt)" -le 80 ] || fail "wider than 80 columns"
  same_as_golden why.txt
  same_as_golden why_job.json
  same_as_golden why_all.json
}

# A small cluster with GPUs of two types, filled by every rule.
case_fill() {
  (cd "$project" && "$headroom" fill tests/cli/golden/fill.json --seeds 2 --to 1.1 --csv "$work/rows" \
    --json "$work/fill_means" --md "$work/fill.md" --policies \
    fgd,weighted-best-fit,dot-product,gpu-packing,gpu-clustering,best-fit,worst-fit,first-fit,spread,random,kube-default,kube-most-allocated) \
    2>stderr | without_speed | sed -E 's/ +[0-9.]+$//; s/ +seconds$//' >fill.txt
  is_empty stderr
  # Rows of whole tens of percent; of the other rows only the checksum.
  { cksum <rows; awk -F, 'NR == 1 || $3 % 10 == 0' rows; } >fill.csv
  without_perf <fill_means | cksum >>fill.csv
  same_as_golden fill.txt
  same_as_golden fill.csv
  same_as_golden fill.md
}

run_case
