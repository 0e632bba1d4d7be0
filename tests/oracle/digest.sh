#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same scenario gives the same bytes from every compiler and optimisation level, with and without --check: the
# digest of the event log and all other figures except those of the wall clock.
#
#   digest.sh SOURCE HEADROOM...    HEADROOM: the program as built by different compilers or at different levels
set -eu

source_dir=$1
shift
helios=$source_dir/../shared/traces/helios-venus/helios_trace.csv.gz
programs=$* # paths without blanks
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compare LABEL ARGUMENTS...: every program's summary, without the figures of the wall clock, against the first one's. The
# programs run at the same time.
failures=0
compare() {
  label=$1
  shift
  rm -f "$work"/*
  number=0
  for program in $programs; do
    for check in '' --check; do
      number=$((number + 1))
      # shellcheck disable=SC2086 # no option or one
      "$program" run "$@" $check --quiet --json "$work/$number.whole" &
    done
  done
  wait
  number=0
  for program in $programs; do
    for check in '' --check; do
      number=$((number + 1))
      sed '/"perf"/,/}/d' "$work/$number.whole" >"$work/$number"
      if ! grep -q '"digest"' "$work/$number"; then
        echo "FAILED: $label: no digest from $program $check"
        exit 1
      fi
      if ! cmp -s "$work/1" "$work/$number"; then
        echo "FAILED: $label: $program $check differs"
        diff "$work/1" "$work/$number" | head -n 20
        failures=$((failures + 1))
      fi
    done
  done
  echo "$label: $(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$work/1")"
}

plain='fifo:strict:best-fit:auto sjf:skip:worst-fit:auto fifo:easy:pool:auto smallest:easy:best-fit:auto
  priority:conservative:first-fit:auto'
# Orders whose keys are computed in floating point or change while jobs wait, and orders that preempt.
others='srtf:skip:pool:auto las:skip:best-fit:auto gittins:easy:pool:auto edf:skip:best-fit:order f1:easy:best-fit:auto
  wfp3:conservative:best-fit:auto qssf:skip:pool:auto fair-share:easy:best-fit:auto drf:skip:worst-fit:auto
  multifactor:conservative:pool:auto priority:skip:best-fit:priority fifo:skip:first-fit:priority'

# compare_policies TRACE POLICIES ARGUMENTS...
compare_policies() {
  trace=$1
  policies=$2
  shift 2
  for policy in $policies; do
    order=${policy%%:*}
    rest=${policy#*:}
    preemption=${rest##*:}
    rest=${rest%:*}
    compare "$trace, $policy" "$@" --set "policy.order=$order" --set "policy.backfill=${rest%%:*}" \
      --set "policy.placement=${rest#*:}" --set "policy.preemption=$preemption"
  done
}

compare_policies demo "$plain $others" "$source_dir/scenarios/demo.json"
if [ -e "$helios" ]; then
  compare_policies helios "$plain" "$source_dir/scenarios/helios.json" --trace "$helios"
else
  echo "*** SKIPPED: real trace $helios is missing ***"
fi
echo "digests: $# programs, $failures differences"
[ "$failures" -eq 0 ]
