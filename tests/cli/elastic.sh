#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Elastic jobs: the speed of a job by its number of GPUs. All values are computed by hand, and all runs are in checked
# mode.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# scenario NODES SCALING: jobs on nodes of 8 GPUs start with fewer GPUs if they do not fit, and grow.
scenario() {
  printf '{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": %s, "gpus_per_node": 8}]},
 "policy": {"name": "fifo", "elastic": "grow"}%s}\n' "$1" "${2:+,
 \"scaling\": [$2]}" >s.json
}

# ends TIME...: fails unless the jobs of t.csv end at these times.
ends() {
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  local found
  found=$(awk -F, 'NR > 1 { end = end " " $4 } END { print substr(end, 2) }' jobs.csv)
  [ "$found" = "$*" ] || fail "jobs end at $found, not at $*"
}

ROWS='{"gpus": 4, "speed": 360}, {"gpus": 8, "speed": 600}'

# A job of 8 GPUs and 100 s has `n` GPUs of one node at all times. At 4 GPUs its speed is 360 / 600. At 6 GPUs it is
# interpolated between the rows: (360 + 600) / 2 / 600. At 2 GPUs it is half of that at 4 GPUs. Only ratios matter.
case_speed_follows_from_the_rows() {
  header='submit_s,duration_s,gpus,min_gpus,max_gpus'
  scenario 1 "$ROWS"
  printf '%s\n0,1000,4,4,4\n0,100,8,4,8\n' $header >t.csv
  ends 1000 166.666667
  printf '%s\n0,1000,2,2,2\n0,100,8,4,8\n' $header >t.csv
  ends 1000 125
  printf '%s\n0,1000,6,6,6\n0,100,8,2,8\n' $header >t.csv
  ends 1000 333.333334
  scenario 1 '{"gpus": 8, "speed": 1.5}, {"gpus": 4, "speed": 0.9}'
  ends 1000 333.333334
  # without the key, the speed is n / 8
  scenario 1
  ends 1000 400
}

# The second job has 4 GPUs until 60 s and completes 60 x 360 / 600 = 36 s of its work. It grows to 8 GPUs and ends 64 s
# later. In another run, on two nodes, a job grows to 16 GPUs. It is not faster than with 8 GPUs, unless there is a row
# for 16 GPUs.
case_speed_changes_with_a_resize() {
  scenario 1 "$ROWS"
  printf 'submit_s,duration_s,gpus,min_gpus,max_gpus\n0,60,4,4,4\n0,100,8,4,8\n' >t.csv
  ends 60 124
  try 0 run s.json --trace t.csv --check --json summary.json
  says stderr "note: elastic jobs: 1 resize; the speed of a job follows from 'scaling'"
  tr -d ' \n' <summary.json | grep -qF '"elastic":{"grows":1,"shrinks":0}' || fail 'not one growth'
  scenario 2 "$ROWS"
  printf 'submit_s,duration_s,gpus,min_gpus,max_gpus\n0,100,8,8,16\n' >t.csv
  ends 100
  scenario 2 "$ROWS, {\"gpus\": 16, \"speed\": 1000}"
  ends 60
}

# Jobs of a model with rows of its own use only these.
case_models_have_their_own_rows() {
  scenario 1 "$ROWS"', {"model": "llm", "gpus": 4, "speed": 3}, {"model": "llm", "gpus": 8, "speed": 4}'
  printf 'submit_s,duration_s,gpus,min_gpus,max_gpus,model\n0,1000,4,4,4,\n0,75,8,4,8,llm\n' >t.csv
  ends 1000 100
  sed -i 's/llm$/other/' t.csv
  ends 1000 125
}

# The models of schedulers use the table, too.
case_schedulers_use_the_rows() {
  scenario 1 "$ROWS"
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,max_gpus\n0,1000,4,4,4,4\n0,60,8,8,4,8\n' >t.csv
  for policy in kai volcano; do
    sed "s/{\"name\": \"fifo\", \"elastic\": \"grow\"}/{\"name\": \"$policy\"}/" s.json >"$policy.json"
    try 0 run "$policy.json" --trace t.csv --check --quiet --jobs jobs.csv
    awk -F, '$1 == 2 && $4 - $3 != 100 { exit 1 }' jobs.csv || fail "$policy: not 100 s"
  done
}

# The first job has all 8 GPUs. It releases 4 GPUs when the second job arrives and 2 when the third one arrives. When
# the second job ends, it grows to 6 GPUs, and when the third ends, to 8. The metrics and the columns of the jobs agree.
# A run without elastic jobs has none.
case_resizes_are_counted() {
  scenario 1
  sed -i 's/"grow"/"shrink"/' s.json
  printf 'submit_s,duration_s,gpus,min_gpus,max_gpus\n0,100,8,2,8\n10,50,4,4,4\n20,100,2,2,2\n' >t.csv
  try 0 run s.json --trace t.csv --check --quiet --json summary.json --jobs jobs.csv
  tr -d ' \n' <summary.json | grep -qF '"elastic":{"grows":2,"shrinks":2}' || fail 'not 2 and 2'
  local resizes
  resizes=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "resizes") at = i } NR > 1 { n += $at }
    END { print n }' jobs.csv)
  [ "$resizes" = 4 ] || fail "$resizes resizes in jobs.csv"
  printf 'submit_s,duration_s,gpus\n0,100,8\n' >t.csv
  try 0 run s.json --trace t.csv --quiet --json summary.json
  ! tr -d ' \n' <summary.json | grep -qF '"elastic":{' || fail 'a run without elastic jobs has the section'
}

case_bad_rows() {
  printf 'submit_s,duration_s,gpus\n0,9,4\n' >t.csv
  scenario 1 '{"gpus": 4, "speed": 1}, {"gpus": 4, "speed": 2}'
  try 2 run s.json --trace t.csv
  says stderr "s.json:3:39: duplicate speed of '*' on 4 GPUs; keep one"
  try 2 validate s.json
  says stderr "s.json:3:39: duplicate speed of '*' on 4 GPUs; keep one"
  scenario 1 '{"gpus": 4, "speed": 0}'
  try 2 run s.json --trace t.csv
  says stderr "s.json:3:35: 'scaling.0.speed' is the number 0; a number from 0.001 to 4000000 is expected"
  scenario 1 '{"gpus": 0, "speed": 1}'
  try 2 run s.json --trace t.csv
  says stderr "'scaling.0.gpus' is the number 0"
  scenario 1 '{"speed": 1}'
  try 2 run s.json --trace t.csv
  says stderr "'scaling.0' lacks the key 'gpus'"
  # no job is elastic
  scenario 1 "$ROWS"
  try 0 run s.json --trace t.csv
  says stderr "warning: 'scaling' has no effect: no job may be resized"
}

run_case
