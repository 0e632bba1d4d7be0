#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Hostile input and a hostile machine: names with escape sequences, full disks, limits, extreme values, policies that
# misbehave.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json
esc=$'\033'
override=$'\xe2\x80\xae' # U+202E

# is_printable FILE...: the files have no control characters, except tabs and line ends, and no controls of
# bidirectional text.
is_printable() {
  for file; do
    ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$file" || fail "$file has control characters: $(grep -aP '[\x00-\x08\x0b-\x1f\x7f]' "$file" | head -3 | cat -v)"
    ! grep -qF "$override" "$file" || fail "$file has U+202E"
  done
}

# ---- Names on the terminal --------------------------------------------------------------------------------------------

case_names_in_messages() {
  printf 'job_id,submit_s,duration_s,gpus,gpu_type\n%s]0;t\aa,0,5,8000,\n%s[2Jb,0,5,8,%s[31mT\n%sx,0,5,9000,\n' \
    "$esc" "$esc" "$esc" "$override" >jobs.csv
  for verb in "run $demo" "compare $demo --policies fifo,sjf" "report $demo -o r.html" "advise $demo" \
    "trace check jobs.csv --for $demo"; do
    # shellcheck disable=SC2086 # several words
    "$headroom" $verb ${verb%%trace*} --trace jobs.csv >stdout 2>stderr || :
    is_printable stdout stderr
  done
  "$headroom" run "$demo" --trace jobs.csv >stdout 2>stderr || :
  says stderr '\x1B]0;t\x07a'
  says stderr '\x1B[2Jb'
  try 2 why "$demo" --trace jobs.csv --job zz
  says stderr "the first is '\x1B]0;t\x07a'"
  try 2 why "$demo" --trace jobs.csv --job "${esc}[31m"
  is_printable stderr
}

case_names_in_documents() {
  printf '{"name":"x","\\u001b[31mfoo":1}' >key.json
  try 2 run key.json
  says stderr "unknown key '\\x1B[31mfoo'"
  printf '{"name":"x\\u001b[31m","cluster":{"pools":[{"name":"p\\u001b[31m\\u202e","gpu":"A100-80","nodes":1,"gpus_per_node":8}]},"policy":{"name":"fifo\\u001b"}}' >names.json
  try 2 run names.json
  is_printable stderr
  sed -i 's/fifo.u001b/fifo/' names.json
  printf 'job_id,submit_s,duration_s,gpus,tenant\na,0,5,8,t%s[31m%s\nb,0,5,8,u\n' "$esc" "$override" >jobs.csv
  for verb in validate run why compare advise check; do
    "$headroom" $verb names.json --trace jobs.csv >stdout 2>stderr || :
    is_printable stdout stderr
  done
  "$headroom" why names.json --trace jobs.csv --job b >stdout 2>stderr || :
  is_printable stdout stderr
  try 0 run names.json --trace jobs.csv -q --md run.md
  is_printable run.md
  try 2 run "${esc}[31m.json"
  says stderr '\x1B[31m.json'
  try 2 run "$demo" --policy "${esc}[31m"
  is_printable stderr
  printf 'not a sweep\033[31m' >"sweep${esc}.db"
  "$headroom" sweep "$demo" -o "sweep${esc}.db" >stdout 2>stderr || :
  is_printable stdout stderr
}

case_set_must_be_utf8() {
  try 2 run "$demo" --set name=$'a\xff'
  says stderr '--set name=a\xFF: the text is not valid UTF-8'
  try 0 run "$demo" -q --set name='café'
}

# ---- Output files -----------------------------------------------------------------------------------------------------

# If one file cannot be written, none appears.
case_outputs_appear_together() {
  echo OLD >j.csv
  echo OLD >a.json
  try 4 run "$demo" -q --jobs j.csv --json a.json --md new.md --perfetto /dev/full
  [ "$(cat j.csv a.json)" = "$(printf 'OLD\nOLD')" ] || fail "a file was replaced although the run failed"
  [ ! -e new.md ] || fail "a file appeared although the run failed"
  [ "$(find . -name '.headroom*' | wc -l)" = 0 ] || fail "temporary files remain"
  try 0 run "$demo" -q --jobs j.csv --json a.json --md new.md --perfetto p
  ! grep -qx OLD j.csv a.json || fail "a file was not replaced"
  if [ ! -s new.md ] || [ ! -s p ]; then fail "files are missing"; fi
  echo OLD >c.csv
  try 4 compare "$demo" --policies fifo,sjf -q --csv c.csv --json /dev/full
  [ "$(cat c.csv)" = OLD ] || fail "compare replaced a file although it failed"
}

case_outputs_are_different_files() {
  mkdir sub
  ln -s new.out link
  for pair in 'x.out ./x.out' 'x.out sub/../x.out' "x.out $PWD/x.out" 'link new.out' 'sub//y sub/y'; do
    try 2 run "$demo" -q --json "${pair% *}" --jobs "${pair#* }"
    says stderr 'use two files'
    [ "$(find . -type f -newer sub -name '*.out' | wc -l)" = 0 ] || fail "$pair: a file was written"
  done
  try 0 run "$demo" -q --json x.out --jobs sub/x.out
}

case_links_are_followed() {
  mkdir there
  echo keep >there/target
  ln -s there/target link
  ln -s link second
  ln -s there/fresh dangling
  ln -s loop loop
  try 0 run "$demo" -q --json second --jobs dangling
  if [ ! -L link ] || [ ! -L second ] || [ ! -L dangling ]; then fail "a link was replaced"; fi
  says there/target '"digest"'
  says there/fresh 'job_id'
  try 2 run "$demo" -q --json loop
  says stderr '--json loop: cannot be written'
  try 2 run "$demo" -q --json link --jobs there/target
  says stderr 'use two files'
}

case_standard_output_by_name() {
  "$headroom" run "$demo" -q --json /dev/stdout >out.json
  says out.json '"digest"'
  [ -L /dev/stdout ] || fail "/dev/stdout was replaced"
  "$headroom" run "$demo" -q --json /dev/stdout | grep -q '"digest"' || fail "nothing in the pipe"
}

case_limit_of_file_size() {
  code=0
  (
    ulimit -f 10
    exec "$headroom" run "$demo" -q --jobs big.csv --json small.json
  ) >stdout 2>stderr || code=$?
  [ "$code" = 4 ] || fail "exit code $code, not 4"
  says stderr 'big.csv: cannot be written: File too large'
  if [ -e big.csv ] || [ -e small.json ]; then fail "a file appeared"; fi
}

case_formulas_in_csv() {
  printf 'job_id,submit_s,duration_s,gpus,tenant\n=cmd|x,0,5,8,@SUM(1)\n-5,0,5,8,-\n"+1,2",0,5,8,a=b\n' >jobs.csv
  try 0 run "$demo" --trace jobs.csv -q --jobs j.csv
  says j.csv "'=cmd|x,"
  says j.csv ",'@SUM(1),"
  says j.csv "\"'+1,2\","
  matches j.csv '^-5,.*,-,'
  says j.csv ',a=b,'
}

# The size of the report does not grow with the number of tenants or the length of names.
case_report_is_bounded() {
  (
    echo submit_s,duration_s,gpus,tenant
    awk 'BEGIN { for (i = 0; i < 30000; i++) printf "%d,60,1,t%d\n", i / 10, i }'
  ) >many.csv
  try 0 report "$demo" --trace many.csv --set cluster.pools.0.nodes=200 -q -o many.html
  [ "$(stat -c %s many.html)" -lt 6000000 ] || fail "the report has $(stat -c %s many.html) bytes"
  says many.html 'this page lists the 1,000 largest of 30,000 tenants'
  (
    echo job_id,submit_s,duration_s,gpus,tenant
    awk 'BEGIN { long = "n"; for (i = 0; i < 18; i++) long = long long
      for (i = 0; i < 20; i++) print long i "," i ",60,1," long i }'
  ) >long.csv
  try 0 report "$demo" --trace long.csv -q -o long.html
  [ "$(stat -c %s long.html)" -lt 2000000 ] || fail "the report has $(stat -c %s long.html) bytes"
}

# ---- Extreme values ---------------------------------------------------------------------------------------------------

# The job that loses the least is stopped, also if lost work x GPUs exceeds 64 bits.
case_least_lost_beyond_64_bits() {
  printf '{"cluster":{"pools":[{"name":"a","gpu":"A100-80","nodes":2,"gpus_per_node":2000000}]},"policy":{"name":"queue","order":"fifo","preemption":"priority","victims":"least-lost","preempted":"requeue"}}' >s.json
  printf 'job_id,submit_s,duration_s,gpus,limit_s,priority\nlong,0,9000000,2000000,9000000,0\nshort,4900000,5000000,2000000,5000000,0\nhigh,5000000,100,2000000,100,5\n' >jobs.csv
  try 0 run s.json --trace jobs.csv -q --jobs j.csv

  [ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "lost_s") at = i } $1 == "long" { print $at }' j.csv)" = 0 ] || fail "the job that loses most was stopped"
}

case_costs_beyond_128_bits() {
  printf '{"cluster":{"pools":[{"name":"a","gpu":"A100-80","nodes":1,"gpus_per_node":4000000,"market":"owned","usd_per_gpu_hour":100000}]},"policy":{"name":"fifo"}}' >s.json
  (
    echo submit_s,duration_s,gpus
    for _ in 1 2 3 4 5; do echo 0,1e11,4000000; done
  ) >jobs.csv
  try 2 run s.json --trace jobs.csv -q
  says stderr 'costs exceed 4 trillion dollars'
  try 2 run s.json --trace jobs.csv -q --stream
  says stderr 'costs exceed 4 trillion dollars'
}

spot_pool='{"name":"a","gpu":"V100","nodes":3,"gpus_per_node":2,"market":"spot","usd_per_gpu_hour":1,"spot":'

# within SECONDS ARGUMENT...: runs the program, which must succeed within this processor time.
within() {
  local seconds=$1
  shift
  (ulimit -t "$seconds" && exec "$headroom" "$@") || fail "exit code $?: headroom $*"
}

# A long notice period does not require a complete look-ahead.
case_long_notice() {
  printf '{"cluster":{"pools":[%s{"model":"on-off","up":{"distribution":"exponential","mean_s":600},"down":{"distribution":"fixed","mean_s":100},"notice_s":1000000000}}]},"policy":{"name":"queue","market":"price-capacity"},"horizon_s":1000}' "$spot_pool" >s.json
  printf 'submit_s,duration_s,gpus\n0,100,2\n5,50,2\n' >jobs.csv
  within 20 run s.json --trace jobs.csv -q
  sed -i 's/"model":"on-off".*"notice_s"/"model":"exponential","rate_per_h":1000,"notice_s"/' s.json
  within 20 run s.json --trace jobs.csv -q
}

# Requests wait for replicas that the schedule never starts.
case_services_without_replicas() {
  cat >s.json <<'END'
{"cluster":{"pools":[{"name":"p","gpu":"A100-80","nodes":1,"gpus_per_node":8}]},
 "services":[{"name":"s","requests":{"rate_per_s":1,"count":20,"duration_s":100,"prompt_tokens":{"mean":100},"output_tokens":{"mean":10}},
   "autoscale":{"policy":"schedule","max":3,"steps":[{"at_s":0,"replicas":0}]},
   "replica":{"gpus":1,"engine":{"name":"vllm-v0","kv_blocks":4096},
     "cost":{"fixed_us":5000,"per_prompt_token_us":60,"per_sequence_us":20,"per_context_ktoken_us":150}}}]}
END
  (ulimit -t 20 && exec "$headroom" run s.json 2>stderr >stdout) && fail "exit code 0"
  grep -q '0 completed, 0 refused, 20 unfinished' stdout || fail "20 requests are not unfinished"
  sed -i 's/"steps":\[{"at_s":0,"replicas":0}/"period_s":2678400,&,{"at_s":2592000,"replicas":1}/' s.json
  within 20 run s.json >stdout
  grep -q '20 offered, 20 completed' stdout || fail "requests do not wait 30 days for a replica"
}

# Requests go to a cluster without replicas: the run ends, and they are unfinished.
case_cluster_without_replicas() {
  local pools='"pools": [{ "name": "g", "gpu": "L4", "nodes": 1, "gpus_per_node": 1 }]'
  cat >spill.json <<END
{ "clusters": [{ "name": "us", $pools }, { "name": "eu", $pools }],
  "services": [{ "name": "c",
    "requests": { "rate_per_s": 10, "count": 50, "prompt_tokens": { "mean": 500 }, "output_tokens": { "mean": 100 } },
    "clusters": [{ "name": "us" }, { "name": "eu", "replicas": 0 }],
    "router": { "name": "least-outstanding", "spill": { "to": "clusters", "predicted_wait_s": 0.1 } },
    "replica": { "engine": { "name": "single" }, "cost": { "fixed_us": 5000 } } }] }
END
  try 0 run spill.json
  says stdout "41 unfinished"
  says stderr "service 'eu/c': 41 requests did not complete"
}

# Checkpoints of a job that may be preempted are not simulated one by one. The lost work has a closed form: with
# intervals of 3 s and writes of 2 s, the attempt has 3 s of work per 5 s.
case_very_many_checkpoints() {
  printf '{"cluster":{"pools":[{"name":"a","gpu":"A","nodes":1,"gpus_per_node":8}]},"policy":{"name":"queue","order":"priority","preemption":"priority","preempted":"requeue"},"classes":{"default":{"checkpoint":{"policy":"interval","interval_s":3,"write_s":2},"restart_s":0}}}' >s.json
  printf 'job_id,submit_s,duration_s,gpus,priority\nlong,0,1e7,8,0\nhigh,9999994,10,8,9\n' >jobs.csv
  try 0 run s.json --trace jobs.csv --check -q --jobs j.csv --json a.json
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $1 == "long" && ($at["lost_s"] != 3 || $at["attempts"] != 2 || $at["checkpoint_s"] != 6666667) { exit 1 }' j.csv ||
    fail "$(head -2 j.csv)"
  printf 'submit_s,duration_s,gpus,priority,checkpoint_interval_s\n0,1e11,8,0,1\n5,10,8,0,\n' >jobs.csv
  try 0 run s.json --trace jobs.csv -q --set 'classes={}'
  # writes to a storage are simulated one by one, but there are at most a million
  printf 'submit_s,duration_s,gpus,priority\n0,1e11,8,0\n5,10,8,0\n' >jobs.csv
  sed -i 's/"gpus_per_node":8/&,"storage_gb_s":1/; s/"interval_s":3,/&"gb":1,/' s.json
  try 0 run s.json --trace jobs.csv -q
}

# The time of a pass does not depend on the number of GPUs of a node.
case_wide_nodes() {
  printf '{"cluster":{"pools":[{"name":"p","gpu":"H100","nodes":1,"gpus_per_node":1,"market":"owned","usd_per_gpu_hour":6},%s{"model":"on-off","up":{"distribution":"exponential","mean_s":600},"down":{"distribution":"fixed","mean_s":100},"notice_s":30},"boot_s":120}]},"policy":{"name":"queue","order":"largest","backfill":"skip","placement":"worst-fit","market":"on-demand-only"},"horizon_s":1000000}' "$spot_pool" >s.json
  sed -i 's/"V100","nodes":3,"gpus_per_node":2/"H100","nodes":1,"gpus_per_node":1000000/' s.json
  (
    echo submit_s,duration_s,gpus
    awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%d,1,1\n", i * 10; print "0,1,900000" }'
  ) >jobs.csv
  within 30 run s.json --trace jobs.csv -q
}

# ---- Policies that misbehave ------------------------------------------------------------------------------------------

# build_policy NAME CREATE DECIDE: a policy with these statements.
build_policy() {
  cat >"$1.c" <<C
#include <headroom/policy.h>
#include <signal.h>
#include <stdlib.h>
static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error; *self = hr_arena_alloc(env->arena, 8); $2
}
static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self; (void)view; (void)event; return HR_OK;
}
static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  (void)self; (void)view; (void)moves; $3
}
HR_POLICY($1) = {HR_POLICY_HEAD, .name = "$1", .summary = "s", .create = create, .observe = observe, .decide = decide};
C
  "${CC:-cc}" -fPIC -shared -I"$project/include" "$1.c" -o "$1.so" || exit 77
}

case_policy_without_progress() {
  build_policy odd 'return (enum hr_status)77;' 'return HR_OK;'
  try 3 run "$demo" --policy ./odd.so
  says stderr "policy 'odd' failed when it was created, with status 77"
  build_policy wakes 'return HR_OK;' 'return hr_moves_wake_at(moves, view->now_us + 1);'
  try 3 run "$demo" --policy ./wakes.so --json a.json
  says stderr "policy 'wakes' makes no progress"
  [ ! -e a.json ] || fail "a file appeared"
  build_policy ends 'return HR_OK;' 'exit(0);'
  try 3 run "$demo" --policy ./ends.so --json a.json
  says stderr 'called exit()'
  [ ! -e a.json ] || fail "a file appeared"
}

# A plug-in that crashes, or that does not return, is named.
case_policy_crashes() {
  if has_sanitizer; then
    echo '*** SKIPPED: a sanitizer handles the signals of crashes itself ***'
    exit 77
  fi
  build_policy crashes 'return HR_OK;' 'abort();'
  try 134 run "$demo" --policy ./crashes.so --json a.json
  says stderr "headroom: plug-in 'crashes' crashed in its function 'decide'"
  [ ! -e a.json ] || fail 'a file appeared'
  build_policy divides 'raise(SIGFPE); return HR_OK;' 'return HR_OK;'
  try 136 run "$demo" --policy ./divides.so
  says stderr "headroom: plug-in 'divides' crashed in its function 'create'"
  build_policy reads 'return HR_OK;' 'raise(SIGSEGV); return HR_OK;'
  try 139 compare "$demo" --policies fifo,./reads.so --threads 2 --quiet
  says stderr "headroom: plug-in 'reads' crashed in its function 'decide'"
}

case_policy_does_not_return() {
  build_policy loops 'return HR_OK;' 'for (volatile int i = 0;;) i = 1;'
  HEADROOM_POLICY_LIMIT_S=1 try 152 run "$demo" --policy ./loops.so --json a.json
  says stderr "headroom: plug-in 'loops' does not return from its function 'decide': the limit of CPU time"
  [ ! -e a.json ] || fail 'a file appeared'
}

# A wide cell of the table of alerts is separated from the cell before it.
case_alerts_with_wide_values() {
  try 0 run "$project/scenarios/demo.json" --set cluster.pools.0.nodes=2
  matches stdout '^queue-time .* [0-9]+ (s|min|h|d) [0-9,]{3,} jobs$'
}

run_case
