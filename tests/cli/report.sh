#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# HTML reports: report.sh HEADROOM CASE runs one case. tests/report tests the content of a page, tests/web its
# appearance.
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# A build without node cannot write a page, and prints an error.
if "$headroom" report "$project/scenarios/demo.json" -q -o - 2>stderr | head -c 1 >/dev/null; then
  if grep -q 'no report page' stderr; then
    case $wanted in refused_without_a_page) ;; *) echo "*** SKIPPED: this build has no report page ***" >&2; exit 77 ;; esac
  fi
fi

# Runs JavaScript with node, which every build that writes pages has. `page` is the document of a page. See
# report_tools.cjs.
script() {
  node -e "const { read, same, document, lines, column } = require('$here/report_tools.cjs');
    const page = document('$1');
    $2"
}

# Prints a value of the page, given by an expression over `page`.
value() {
  script "$1" "console.log(String($2))"
}

holds() {
  [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is $(value "$1" "$2"), not $3"
}

case_refused_without_a_page() {
  if ! grep -q 'no report page' stderr; then exit 0; fi
  try 2 report "$project/scenarios/demo.json"
  says stderr 'this build has no report page: configure with node and npm'
  [ ! -e report.html ] || fail "a page was written"
}

case_report_is_a_run() {
  try 0 report "$project/scenarios/demo.json"
  says stdout 'wrote report.html'
  try 0 run "$project/scenarios/demo.json" --quiet --json run.json
  script report.html 'const run = read("run.json");
    delete run.perf; delete page.run.perf;
    process.exit(same(page.run, run) ? 0 : 1)' || fail "the runs differ"
  holds report.html '[page.kind, page.title, page.baseline]' run,demo,
  holds report.html page.command "headroom report $project/scenarios/demo.json"
}

case_baseline() {
  try 0 run "$project/scenarios/demo.json" --quiet --policy fifo --json fifo.json
  try 0 report "$project/scenarios/demo.json" --policy sjf --baseline fifo.json -o sjf.html --quiet
  is_empty stdout
  holds sjf.html page.baseline.name fifo.json
  holds sjf.html page.baseline.run.policy.order fifo
  try 2 report "$project/scenarios/demo.json" --baseline none.json
  says stderr '--baseline none.json: cannot be read'
  printf '{\n"a": 1,\n]' >bad.json
  try 2 report "$project/scenarios/demo.json" --baseline bad.json
  says stderr '--baseline bad.json:3: invalid JSON'
  echo '{"a": 1}' >other.json
  try 2 report "$project/scenarios/demo.json" --baseline other.json
  says stderr 'not the summary of a run'
  try 2 run "$project/scenarios/demo.json" --baseline fifo.json
  says stderr 'needs --report FILE'
  [ ! -e report.html ] || fail "a page was written"
}

case_run() {
  try 0 run "$project/scenarios/demo.json" --report 'a page.html'
  says stdout 'p95'
  holds 'a page.html' page.command "headroom run $project/scenarios/demo.json --report 'a page.html'"
  try 0 run "$project/scenarios/demo.json" --quiet --report -
  mv stdout out.html
  holds out.html page.kind run
  try 0 run "$project/scenarios/demo.json" --report -
  [ "$(grep -c 'p95  ' stdout)" -eq 0 ] || fail "a table in the page"
  try 2 run "$project/scenarios/demo.json" --replications 2 --report page.html
  says stderr '--report needs a single run'
}

case_files() {
  try 2 report "$project/scenarios/demo.json" -o nowhere/page.html
  says stderr 'nowhere/page.html: cannot be written'
  try 2 run "$project/scenarios/demo.json" --json same --report same
  says stderr 'use two files'
  if [ -e /dev/full ]; then
    try 4 report "$project/scenarios/demo.json" --quiet -o /dev/full
    says stderr 'No space left on device'
  fi
  mkdir folder
  echo before >folder/page.html
  try 0 report "$project/scenarios/demo.json" --quiet -o folder/page.html
  [ "$(ls folder)" = page.html ] || fail "the folder has files besides the report"
}

case_compare() {
  try 0 compare "$project/scenarios/demo.json" --policies fifo,sjf --quiet --report page.html --json compare.json
  script page.html 'const compare = read("compare.json"), [first] = compare.policies;
    delete compare.perf; delete page.compare.perf;
    const of_run = ["digest", "wait_s", "jobs", "utilization"].every((key) => same(page.run[key], first.summary[key]));
    process.exit(same(page.compare, compare) && of_run ? 0 : 1)' || fail "the documents differ"
  holds page.html '[page.kind, page.run.policy.order]' compare,fifo
}

case_plan() {
  try 0 plan "$project/scenarios/plan-l4-or-t4.json" --brief --quiet --report page.html --json plan.json
  script page.html 'const plan = read("plan.json");
    delete plan.perf; delete page.plan.perf;
    const bought = plan.pools.every(({ name, nodes }) => page.run.cluster.pools.find((p) => p.name === name).nodes === nodes);
    const wait = plan.recommendation.metrics["wait_s.p95"].mean;
    process.exit(same(page.plan, plan) && page.kind === "plan" && bought && page.run.wait_s.p95 === wait ? 0 : 1)' ||
    fail "the documents differ"
}

case_sweep() {
  try 0 sweep "$project/scenarios/sweeps/demo.json" --quiet --db demo.sqlite --csv runs.csv --report page.html
  script page.html 'const rows = lines("runs.csv"), { runs } = page.sweep;
    const alike = runs.every(({ settings, metrics }, i) => settings.policy === rows[i].policy &&
      settings.nodes === Number(rows[i].nodes) && Math.abs(metrics.wait_mean_s - rows[i].wait_mean_s) < 1e-5);
    process.exit(alike && runs.length === rows.length && page.run === null && page.kind === "sweep" ? 0 : 1)' ||
    fail "the runs differ"
}

# The rows of all jobs equal those of --jobs. tests/report tests all columns.
case_jobs() {
  try 0 run "$project/scenarios/demo.json" --quiet --jobs jobs.csv --timeline timeline.csv --report page.html
  script page.html 'const rows = lines("jobs.csv"), line = lines("timeline.csv");
    const near = (value, cell, clock) => cell === "" ? value < 0 : Math.abs(value + clock - cell) < 0.00051;
    const good = ["submit_s", "start_s", "end_s", "wait_s"].every((name) => column("page.html", "jobs", name).every((x, i) =>
      near(x, rows[i][name], name === "wait_s" ? 0 : page.clock.origin_s)));
    const ids = column("page.html", "jobs", "id").every((id, i) => id === Number(rows[i].job_id));
    const peaks = [["allocated", "gpus_allocated"], ["waiting", "waiting"], ["running", "running"]].every(([key, name]) =>
      Math.max(...page.series[key].max) === Math.max(...line.map((row) => Number(row[name]))));
    process.exit(good && ids && peaks ? 0 : 1)' || fail "the page differs from the files"
}

run_case
