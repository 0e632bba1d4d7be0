#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom check`: which changes it detects, its output files, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

unset GITHUB_ACTIONS
reference=$project/traces/reference

# A suite of three short runs: tenants with quotas, spot nodes, gangs.
small_suite() {
  mkdir -p suite
  for name in multi-tenant spot-heavy gang-heavy; do
    cp "$reference/$name.json" suite/
    head -n 300 "$reference/$name.csv" >"suite/$name.csv"
  done
  cat >suite/suite.json <<'JSON'
{
  "runs": [
    { "name": "tenants", "scenario": "multi-tenant.json",
      "set": { "cluster.pools.0.nodes": 6, "quotas.tenants.0.guaranteed_gpus": 8, "quotas.tenants.0.max_gpus": 24 } },
    { "name": "spot", "scenario": "spot-heavy.json", "set": { "cluster.pools.0.nodes": 2 } },
    { "name": "gangs", "scenario": "gang-heavy.json", "policies": ["easy", "srtf", "conservative"] }
  ],
  "tolerances": "exact"
}
JSON
}

# The same suite with its baseline.
checked_suite() {
  small_suite
  try 0 check suite/suite.json --baseline base.json --update -q
}

check_suite() {
  local code=$1
  shift
  try "$code" check suite/suite.json --baseline base.json "$@"
}

# edit FILE SED: applies the expression, which must change the file.
edit() {
  cp "$1" before
  sed -i "$2" "$1"
  ! cmp -s before "$1" || fail "$2 has no effect in $1"
}

# ---- Mutations -----------------------------------------------------------------------------------------------------

# mutated FILE SED: the check must detect the change. Afterwards the file is restored.
mutated() {
  local file=$1 expression=$2
  cp "suite/$file" original
  edit "suite/$file" "$expression"
  check_suite 1 --junit out.xml --json out.json
  says stderr 'from base.json; use --update'
  says out.json '"passed": false'
  grep -q '<failure ' out.xml || fail "$expression: no failure in the XML"
  ! command -v xmllint >/dev/null || xmllint --noout --schema "$here/junit.xsd" out.xml 2>stderr || fail "$expression: XML"
  mv original "suite/$file"
}

case_mutations_of_policies() {
  checked_suite
  mutated multi-tenant.json 's/"order": "fifo"/"order": "sjf"/'
  mutated multi-tenant.json 's/"backfill": "easy"/"backfill": "strict"/'
  mutated multi-tenant.json 's/"placement": "best-fit"/"placement": "worst-fit"/'
  mutated spot-heavy.json 's/"market": "spot-first"/"market": "on-demand-only"/'
  mutated suite.json 's/"srtf"/"srtf:min_run_s=1800"/'
  mutated suite.json 's/"conservative"/"conservative:placement=first-fit"/'
  check_suite 0
}

case_mutations_of_prices_and_clusters() {
  checked_suite
  mutated gang-heavy.json 's/"usd_per_gpu_hour": 1.6/"usd_per_gpu_hour": 1.600001/'
  mutated spot-heavy.json 's/"usd_per_gpu_hour": 1.1,/"usd_per_gpu_hour": 1.2,/'
  mutated multi-tenant.json 's/"idle_split": "proportional"/"idle_split": "even"/;s/"usd_per_gpu_hour": 1.2/"usd_per_gpu_hour": 1.3/'
  mutated suite.json 's/"cluster.pools.0.nodes": 6/"cluster.pools.0.nodes": 5/'
  mutated gang-heavy.json 's/"nodes": 16/"nodes": 17/'
  mutated spot-heavy.json 's/"boot_s": 180/"boot_s": 181/'
  check_suite 0
}

case_mutations_of_traces() {
  checked_suite
  mutated gang-heavy.csv '3{h;d};4{G}' # two rows with equal jobs change places
  says out.json '"moved": []'
  mutated gang-heavy.csv '120s/^\([^,]*,[^,]*\),\([0-9]\)/\1,9\2/'
  mutated multi-tenant.csv '77s/tenant-[0-9]*/tenant-12/'
  mutated spot-heavy.csv '200,210d'
  mutated spot-heavy.csv '10s/training/inference/;10s/,[0-9]*$/,/'
  check_suite 0
}

case_mutations_of_the_rest() {
  checked_suite
  mutated spot-heavy.json 's/"seed": 7/"seed": 8/'
  mutated spot-heavy.json 's/"interval_s": 1800/"interval_s": 900/'
  mutated spot-heavy.json 's/"restart_s": 120/"restart_s": 121/'
  mutated spot-heavy.json 's/"rate_per_h": 0.05/"rate_per_h": 0.3/'
  mutated suite.json 's/"quotas.tenants.0.max_gpus": 24/"quotas.tenants.0.max_gpus": 16/'
  mutated suite.json 's/"name": "gangs"/"name": "packs"/'
  check_suite 0
}

# ---- The reference suite -------------------------------------------------------------------------------------------

case_reference_traces_are_made_again() {
  mkdir made
  sh "$reference/suite.sh" "$headroom" made
  for file in made/*.csv; do cmp "$file" "$reference/$(basename "$file")" || fail "$file differs"; done
  [ "$(find made -name '*.csv' | wc -l)" -eq 6 ] || fail "not six traces"
}

# Every policy is in a run of the suite. Aliases of queue orders may be missing, since another test compares the orders
# with a second implementation.
case_reference_suite_has_all_policies() {
  "$headroom" list policies | grep -v 'alias for queue:order=' | sed -n 's/^\([^ ][^ ]*\).*/\1/p' | while read -r policy; do
    grep -qE "\"${policy}[\":]" "$reference/suite.json" || fail "$policy is in no run"
  done
}

# ---- Output --------------------------------------------------------------------------------------------------------

case_says_what_moved() {
  checked_suite
  check_suite 0
  says stdout '5 runs passed'
  edit suite/gang-heavy.json 's/"nodes": 16/"nodes": 15/'
  check_suite 1
  says stdout 'FAILED gangs/easy'
  matches stdout '^  wait_s.mean .* [+][0-9.,]+ % FAILED$'
  says stdout 'First job whose start differs: '
  matches stdout '^  It waited .* (for|behind) .*'
  says stdout 'Changed: gang-heavy.json: cluster.pools.0.nodes 16 -> 15.'
  says stdout '3 of 5 runs failed'
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  if grep -q ' $' stdout; then fail "a line ends in a space"; fi
}

case_decisions_where_no_start_moves() {
  small_scenario
  printf 'job_id,submit_s,duration_s,gpus\n1,0,100,2\n2,10,100,2\n3,20,50,4\n' >jobs.csv
  try 0 check s.json --trace jobs.csv --baseline base.json --update
  try 1 check s.json --trace jobs.csv --baseline base.json --set policy.placement=worst-fit --tolerance exact
  says stdout 'All jobs start at the same times. The first decision that differs is between 1'
  says stdout 'and 3 of 3; this range begins with'
  says stdout 'Changed: s.json: policy.placement best-fit -> worst-fit.'
}

case_new_and_gone_runs() {
  checked_suite
  edit suite/suite.json 's/"easy", "srtf"/"easy", "las"/'
  check_suite 1
  says stdout 'NEW gangs/las'
  says stdout 'GONE gangs/srtf'
  says stdout '2 of 6 runs failed'
  check_suite 0 --update
  says stdout 'updated gangs/las'
  says stdout '  Added to the baseline.'
  says stdout '  Not in the suite; removed from the baseline.'
  ! grep -qF -- '--update adds' stdout || fail 'the text names --update, which was set'
  check_suite 0
}

case_update_says_what_moved() {
  checked_suite
  check_suite 0 --update
  says stdout '5 runs in the baseline, 0 new, 0 changed'
  cp base.json before
  edit suite/gang-heavy.json 's/1.6/1.7/'
  check_suite 0 --update
  matches stdout 'cost.total_usd .* [+]6.25 % FAILED'
  says stdout '3 changed'
  if cmp -s before base.json; then fail "the baseline is unchanged"; fi
  check_suite 0
}

case_threads_change_nothing() {
  checked_suite
  edit suite/spot-heavy.json 's/0.05/0.06/'
  for threads in 1 2 5; do
    check_suite 1 --threads $threads --json $threads.json --junit $threads.xml --md $threads.md
    cp stdout $threads.txt
    try 0 check suite/suite.json --baseline $threads.base --update -q --threads $threads
  done
  for threads in 2 5; do
    for end in json xml md txt base; do cmp 1.$end $threads.$end || fail "$threads threads: $end differs"; done
  done
}

# ---- Tolerances ----------------------------------------------------------------------------------------------------

case_tolerances() {
  checked_suite
  edit suite/gang-heavy.json 's/1.6/1.61/'
  check_suite 1
  check_suite 0 --tolerance '*=1%'
  says stdout 'passed, changed gangs/easy'
  matches stdout 'monthly_usd .* [+]0.63 % allowed'
  check_suite 1 --tolerance 'wait_s.p95=1%'
  check_suite 1 --tolerance '*=0.5%'
  check_suite 1 --only-worse
  edit suite/gang-heavy.json 's/1.61/1.59/'
  check_suite 0 --only-worse
  matches stdout 'monthly_usd .* -0.62 % better'
  check_suite 1 --tolerance '*=1%' --tolerance 'monthly_usd=10'
}

case_tolerances_of_a_suite() {
  checked_suite
  edit suite/suite.json 's/"conservative"\] }/"conservative"], "tolerances": { "*": { "relative": 0.01 } } }/'
  edit suite/gang-heavy.json 's/1.6/1.61/'
  check_suite 0
  edit suite/suite.json 's/"relative": 0.01 } }/"relative": 0.01 }, "digest": "exact" }/'
  check_suite 0
  edit suite/gang-heavy.csv '3{h;d};4{G}'
  check_suite 1
  edit suite/suite.json 's/, "digest": "exact"//'
  check_suite 0
  says stdout 'Changed: the trace gang-heavy.csv differs from the baseline'
}

case_replications() {
  checked_suite
  edit suite/suite.json 's/"set": { "cluster.pools.0.nodes": 2 }/"set": { "cluster.pools.0.nodes": 2, "replications.count": 4 }/'
  check_suite 1 # one run in the baseline, four now
  check_suite 0 --update
  check_suite 0
  edit suite/spot-heavy.json 's/"usd_per_gpu_hour": 1.1,/"usd_per_gpu_hour": 1.1001,/'
  check_suite 1 # every pair of runs has the same difference
  matches stdout 'cost.total_usd .* FAILED'
}

# The default profile: regressions of service and cost fail. A missed goal fails independently of the baseline.
case_profiles_and_goals() {
  small_suite
  sed -i '/"tolerances": "exact"/d; s/^  \],$/  ]/' suite/suite.json
  check_suite 0 --update
  says stdout '5 runs in the baseline, 5 new, 0 changed'
  check_suite 0 --tolerance exact
  edit suite/gang-heavy.json 's/1.6/1.61/'
  check_suite 0
  matches stdout 'monthly_usd .* [+]0.63 % allowed'
  check_suite 1 --tolerance exact
  check_suite 1 --tolerance 'monthly_usd=0.5%'
  check_suite 0 --tolerance 'wait_s.p95=0.1%'
  edit suite/gang-heavy.json 's/1.61/1.7/'
  check_suite 1
  matches stdout 'monthly_usd .* [+]6.25 % FAILED'
  check_suite 1 --goal 'monthly_usd <= 1 $' --junit out.xml
  matches stderr '^headroom: suite/suite.json: 5 of 5 runs fail against base.json: [1-9][0-9]* figures outside tolerance, 5 goals missed$'
  matches out.xml 'message="[1-9][0-9]* figures? outside tolerance, 1 goal missed"'
  edit suite/gang-heavy.json 's/1.7/1.3/'
  check_suite 0
  matches stdout 'monthly_usd .* better'
  check_suite 1 --goal 'monthly_usd <= 1 $'
  matches stdout '^  Goal missed: monthly_usd <= 1 [$]: it is [$]'
  says stderr 'goals missed'
  edit suite/suite.json 's/"name": "spot",/"name": "spot", "goals": ["completed >= 50 %", "wait_s.p95 of training >= 3 h"],/'
  check_suite 1
  matches stdout '^  Goal missed: wait_s.p95 of training >= 3 h: it is '
  edit suite/suite.json 's/ >= 3 h"/ <= soon"/'
  check_suite 2
  matches stderr 'suite/suite.json:[0-9]+:[0-9]+: .*soon'
  edit suite/suite.json 's/^  \]$/  ], "tolerances": "strict"/'
  check_suite 2
  says stderr "unknown profile 'strict'; expected slo, exact or an object with tolerances"
}

# ---- Files ---------------------------------------------------------------------------------------------------------

case_junit() {
  checked_suite
  check_suite 0 --junit - -q
  says stdout '<testsuites tests="5" failures="0" errors="0">'
  says stdout '<testcase classname="headroom.check" name="gangs/srtf"/>'
  edit suite/suite.json 's/"name": "spot"/"name": "<s\&\\"pot>"/'
  check_suite 1 --junit out.xml
  says out.xml 'name="&lt;s&amp;&quot;pot&gt;"'
  says out.xml '<failure type="new" message="not in the baseline">'
  says out.xml '<failure type="gone" message="not in the suite">'
  ! command -v xmllint >/dev/null || xmllint --noout --schema "$here/junit.xsd" out.xml 2>stderr || fail "no such XML"
}

case_markdown() {
  checked_suite
  check_suite 0 --md -
  says stdout '## :white_check_mark: headroom check: 5 runs passed'
  edit suite/gang-heavy.json 's/1.6/1.7/'
  check_suite 1 --md out.md
  says out.md '## :x: headroom check: 3 of 5 runs failed'
  says out.md '### gangs/easy: failed'
  matches out.md '^\| cost.total\\_usd \| \$[0-9,.]+ \| \*\*\$[0-9,.]+\*\* \| \+6.25 % \| :x: failed \|$'
}

case_annotations() {
  checked_suite
  edit suite/gang-heavy.json 's/1.6/1.7/'
  check_suite 1
  if grep -q '^::' stdout; then fail "annotations without --github"; fi
  check_suite 1 --github -q
  matches stdout '^::error file=suite/gang-heavy.json,title=headroom check%3A gangs/easy::Changed: gang-heavy.json: cluster.pools.0.usd_per_gpu_hour 1.6 -> 1.7.%0Amonthly_usd: .*%0Acost.total_usd: .*%0A'
  [ "$(grep -c '^::error ' stdout)" -eq 3 ] || fail "not three annotations"
  GITHUB_ACTIONS=true check_suite 1 --md -
  matches stderr '^::error '
  if grep -q '^::' stdout; then fail "annotations within Markdown"; fi
  GITHUB_ACTIONS=true check_suite 0 --update
  if grep -q '^::' stdout stderr; then fail "annotations of an update"; fi
}

case_full_disk_and_closed_pipe() {
  checked_suite
  cp base.json before
  for option in json junit md; do
    try 4 check suite/suite.json --baseline base.json --$option /dev/full
    says stderr '/dev/full: cannot be written'
  done
  ln -s /dev/full full.json
  try 2 check suite/suite.json --baseline full.json --update
  says stderr 'full.json'
  try 2 check suite/suite.json --baseline nowhere/base.json --update
  says stderr 'nowhere'
  cmp before base.json || fail "the baseline was changed"
  code=0
  "$headroom" check suite/suite.json --baseline base.json --json - 2>stderr | head -c 1 >/dev/null || code=${PIPESTATUS[0]}
  is_empty stderr
}

# ---- Bad input -----------------------------------------------------------------------------------------------------

case_no_baseline() {
  small_suite
  try 2 check suite/suite.json
  says stderr 'check: --baseline FILE is missing'
  check_suite 2
  says stderr '--baseline base.json: No such file or directory; --update writes it'
  [ ! -e base.json ] || fail "it was written"
}

case_what_is_no_baseline_stays() {
  small_suite
  cp suite/multi-tenant.json other.json
  try 2 check suite/suite.json --baseline other.json --update
  says stderr "other.json: is not a baseline, which has a 'format'"
  cmp suite/multi-tenant.json other.json || fail "it was overwritten"
  printf '{"runs": 1, "format": 99}' >other.json
  try 2 check suite/suite.json --baseline other.json
  says stderr 'other.json: is a baseline of format 99, but this version of headroom'
  try 0 check suite/suite.json --baseline other.json --update
  says stderr 'note: other.json: is a baseline of format 99'
  try 0 check suite/suite.json --baseline other.json
}

case_another_version() {
  checked_suite
  edit base.json 's/"version": "[^"]*"/"version": "0.0.1"/'
  check_suite 0
  says stderr 'note: the baseline was written by headroom 0.0.1; this is '
}

case_bad_suites() {
  checked_suite
  edit suite/suite.json 's/"srtf"/"srft"/'
  check_suite 2
  says stderr "headroom: run 'gangs/srft': unknown policy 'srft'; did you mean 'srtf'?"
  edit suite/suite.json 's/"srft"/"srtf"/; s/pools.0.nodes": 2/pools.0.nods": 2/'
  check_suite 2
  says stderr "run 'spot': --set cluster.pools.0.nods=2: "
  edit suite/suite.json 's/nods": 2/nodes": 2/; s/spot-heavy.json/spot-heavier.json/'
  check_suite 2
  says stderr "suite/spot-heavier.json: "
}

case_bad_tolerances() {
  checked_suite
  check_suite 2 --tolerance wait_s.p95
  says stderr '--tolerance wait_s.p95: expected METRIC=BY'
  check_suite 2 --tolerance 'wait_s.p96=1%'
  says stderr "--tolerance wait_s.p96=1%: unknown metric 'wait_s.p96'; did you mean"
  check_suite 2 --tolerance 'wait_s.p95 of nobody=1%'
  says stderr "'wait_s.p95 of nobody' matches no figure of its runs"
  check_suite 0 --tolerance 'wait_s.p95 of tenant-1=1%' --tolerance 'cost_usd of pool spot=1%'
}

case_options_of_scenarios() {
  checked_suite
  check_suite 2 --policy sjf
  says stderr '--policy applies to a scenario, but suite/suite.json is a suite'
  check_suite 2 --set seed=3
  says stderr '--set applies to a scenario'
  small_scenario
  try 2 check s.json --baseline b.json --update
  says stderr 's.json: names no trace; set one with --trace FILE'
  printf 'when;x,submit_s,long,gpus\n0,1,100,2\n0,10,x,2\n' >jobs.csv
  try 0 check s.json --trace jobs.csv --map duration=long --lenient --baseline b.json --update
  says stderr 'note: jobs.csv: 1 row skipped'
  ! grep -q '(lenient)' stderr || fail 'the option is not the only reason for skipped rows'
  try 0 check s.json --trace jobs.csv --map duration=long --lenient --format csv --policy fifo --seed 1 --baseline b.json
}

case_outputs_spare_the_inputs() {
  checked_suite
  cp base.json before
  check_suite 2 --json base.json
  says stderr '--json base.json: cannot be written: this run reads it'
  check_suite 2 --md suite/spot-heavy.json
  says stderr 'this run reads it'
  check_suite 2 --md same --json same
  says stderr 'both write to'
  cmp before base.json || fail "the baseline was changed"
}

case_services_need_no_trace() {
  cat >chat.json <<'END'
{ "cluster": { "pools": [ { "name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1 } ] },
  "services": [ { "name": "chat", "requests": { "rate_per_s": 1, "count": 100, "prompt_tokens": { "mean": 5 },
                    "output_tokens": { "mean": 5 } },
                  "replica": { "engine": { "name": "vllm-v1", "kv_tokens": 1000 }, "cost": { "fixed_us": 1000 } } } ] }
END
  try 0 check chat.json --baseline chat.base.json --update
  try 0 check chat.json --baseline chat.base.json --goal 'chat.ttft_ms.p95 <= 100'
  try 1 check chat.json --baseline chat.base.json --goal 'chat.e2e_ms.p95 <= 1'
  says stdout 'Goal missed: chat.e2e_ms.p95 <= 1'
}

run_case
