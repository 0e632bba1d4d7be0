#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Training on a recorded fleet of spot nodes, as in Bamboo (Thorpe et al., NSDI'23): preemptions, mean number of nodes,
# and how often training stops. Prints the published figures, those of the published rules applied event by event (the
# awk program below, without Headroom), and those of Headroom (scenarios/bamboo.json). Headroom has no redundant stages:
# a pipeline stops when it loses a node. Exits with 1 if the preemptions or nodes differ, or if the rules event by event
# do not reproduce the published fatal failures.
#
#   bamboo.sh HEADROOM     about a second
set -eu

headroom=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
record=$here/../../shared/traces/spot-bamboo/p3-trace.csv
if [ ! -f "$record" ]; then
  echo "SKIPPED: $record is not there" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The rules event by event. Times are in milliseconds. Each node of a pipeline also has the data of the next stage. If a
# node is lost, the node before it takes its stage, and a step takes 1.5 times as long. The loss is a fatal failure if
# the lost node works on two stages, or if the node before it cannot take its stage. Stages are assigned again in a
# meeting of all nodes. A meeting takes 30 s after a fatal failure. When a step ends, a meeting of 20 s takes place if
# waiting nodes can replace lost nodes or form another pipeline, or if the share of nodes whose loss would be fatal is
# above 5 %.
#
# Simultaneous events are handled in the order in which the heap of the authors' program returns them: a binary heap as
# in CPython, in which events of equal time and kind compare as equal. The number of fatal failures depends on this
# order.
cat >"$work/events.awk" <<'AWK'
function before(a, b) { return at[a] < at[b] || (at[a] == at[b] && kind[a] < kind[b]) }
function rise(i, top,   e, up) {
  for (e = heap[i]; i > top; i = up) {
    up = int((i - 1) / 2)
    if (!before(e, heap[up])) break
    heap[i] = heap[up]
  }
  heap[i] = e
}
function push(time, what, whose) {
  at[++n_made] = time; kind[n_made] = what; name[n_made] = whose
  heap[n_heap] = n_made
  rise(n_heap, 0); n_heap++
}
function pop(   first, last, i, child) {
  first = heap[0]; last = heap[--n_heap]
  if (n_heap == 0) return first
  for (i = 0; (child = 2 * i + 1) < n_heap; i = child) {
    if (child + 1 < n_heap && !before(heap[child], heap[child + 1])) child++
    heap[i] = heap[child]
  }
  heap[i] = last; rise(i, 0)
  return first
}
# the nodes that exist, in the order of their creation: order[1 .. n_order]; gone nodes are skipped
function gather(   i) {
  n_met = 0
  for (i = 1; i <= n_order; i++) if (state[order[i]] == READY || state[order[i]] == RUNNING) met[++n_met] = order[i]
}
function meet(now, what) { phase = MEETING; gather(); push(now + (what == ALL ? 30000 : 20000), what, "") }
function lost(node, now,   i, other, stage) {
  if (stages[node] == 2) return 1
  stage = first_stage[node]
  stage = stage % depth ? stage - 1 : stage + depth - 1
  for (i = 1; i <= n_order; i++) {
    other = order[i]
    if (state[other] == "" || !stages[other]) continue
    if (first_stage[other] != stage && !(stages[other] == 2 && second_stage[other] == stage)) continue
    if (stages[other] == 2) return 1
    second_stage[other] = first_stage[node]; stages[other] = 2
    return 0
  }
  return 0
}
function remove(node, now,   was, fatal) {
  was = state[node]; state[node] = ""; n_nodes--; preemptions++
  if (was == RUNNING && lost(node, now)) { failures++; meet(now, ALL); return }
  if (phase == WORKING && slow_step == "") { slow_step = steps; slow_at = now; slow_done = 0; step_ms = int(step_ms * 1.5) }
}
function assign(now, what,   i, complete) {
  complete = 1
  for (i = 1; i <= n_met; i++) if (state[met[i]] == "") complete = 0
  if (!complete) { meet(now, what); return }
  pipelines = int(n_met / depth); waiting = 0
  for (i = 1; i <= n_met; i++)
    if (i <= pipelines * depth) { state[met[i]] = RUNNING; first_stage[met[i]] = i - 1; stages[met[i]] = 1 }
    else { state[met[i]] = READY; stages[met[i]] = 0; waiting++ }
  slow_step = ""; version++; n_met = 0
  phase = pipelines ? WORKING : STOPPED
  step_ms = pipelines > 3 ? 1008 : pipelines == 3 ? 1046 : pipelines == 2 ? 1085 : 1200
  if (pipelines) push(now + step_ms, STEP, version)
}
function ready(node, now) {
  if (state[node] == "") return
  state[node] = READY
  if (phase == STOPPED) meet(now, ALL)
  else if (phase == MEETING) met[++n_met] = node
  else waiting++
}
function step(now,   i, double, active) {
  if (slow_step == steps && slow_step != "" && !slow_done) {
    slow_done = 1; push(now + int((now - slow_at) * 0.5), STEP, version); return
  }
  steps++
  for (i = 1; i <= n_order; i++) double += state[order[i]] == RUNNING && stages[order[i]] == 2
  active = pipelines * depth - double
  if ((double && (waiting >= double || 2 * double / active > 0.05)) || int((active + waiting) / depth) > pipelines) meet(now, SOME)
  else push(now + step_ms, STEP, version)
}
BEGIN { ADD = 1; REMOVE = 2; UP = 4; ALL = 5; SOME = 6; STEP = 7; READY = "ready"; RUNNING = "running"; CREATING = "creating"
        STOPPED = "stopped"; MEETING = "meeting"; WORKING = "working"; phase = STOPPED; FS = ","; n_heap = 0; depth = 12 }
{ push($1 + 0, $2 == "add" ? ADD : REMOVE, $3); if ($1 + 0 > end) { before_end = end; end = $1 + 0 } }
END {
  while (n_heap) {
    e = pop(); now = at[e]
    if (now > 43200000) break
    area += (now < before_end ? now : before_end) > clock ? ((now < before_end ? now : before_end) - clock) * n_nodes : 0
    clock = now
    if (kind[e] == ADD) { state[name[e]] = CREATING; stages[name[e]] = 0; order[++n_order] = name[e]; n_nodes++; push(now + 45000, UP, name[e]) }
    else if (kind[e] == REMOVE) remove(name[e], now)
    else if (kind[e] == UP) ready(name[e], now)
    else if (kind[e] == STEP) { if (name[e] == version) step(now) }
    else assign(now, kind[e])
  }
  printf "%d %.2f %d\n", preemptions, area / before_end, failures
}
AWK
rules=$(awk -f "$work/events.awk" "$record")

"$headroom" run "$here/../scenarios/bamboo.json" --quiet --json "$work/out.json"
awk -v rules="$rules" '
  function number(text) { gsub(/[^0-9.]/, "", text); return text }
  /"reclaims":/ && reclaims == "" { reclaims = number($2) }
  /"jobs_interrupted":/ && stops == "" { stops = number($2) }
  /"gpu_hours":/ && reclaims != "" && hours == "" { hours = number($2) }
  END {
    split(rules, by_rule, " ")
    printf "%-44s %10s %10s %10s\n", "", "published", "by event", "Headroom"
    printf "%-44s %10d %10d %10d\n", "preemptions of nodes", 167, by_rule[1], reclaims
    printf "%-44s %10.2f %10.2f %10.2f\n", "nodes, mean", 24.07, by_rule[2], hours / (40920 / 3600)
    printf "%-44s %10d %10d %10s\n", "fatal failures, with redundant stages", 6, by_rule[3], "-"
    printf "%-44s %10s %10s %10d\n", "stops of pipelines, without redundant stages", "-", "-", stops
    exit by_rule[1] != 167 || by_rule[2] != "24.07" || by_rule[3] != 6 || reclaims != 166 || hours / (40920 / 3600) < 24 || hours / (40920 / 3600) > 24.1
  }' "$work/out.json"
