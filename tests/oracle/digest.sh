#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies that the results of a scenario do not depend on the compiler, on the optimisation level or on --check. The
# JSON summaries must be equal, including the digest of the event log. Wall-clock times ("perf") are not compared.
#
#   digest.sh [--check-all] SOURCE HEADROOM...
#
# SOURCE: root of the source tree. HEADROOM: programs built by different compilers or at different levels. All programs
# run demo.json with and without --check, and a real trace without --check. Only the first program also runs the real
# trace with --check, because --check takes ten times as long in a program with sanitizers. With --check-all, all
# programs run the real trace with --check.
set -eu

check_all=
if [ "$1" = --check-all ]; then
  check_all=yes
  shift
fi
source_dir=$1
shift
helios=$source_dir/../shared/traces/helios-venus/helios_trace.csv.gz
programs=$* # the paths must not contain spaces
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

checked=$programs
runs_checked() {
  case " $checked " in *" $1 "*) ;; *) return 1 ;; esac
}

# compare LABEL ARGUMENTS...: runs all programs in parallel, each with and without --check, and compares their summaries
# with the summary of the first program. Prints the label and the digest. $checked: the programs that run with --check.
failures=0
compare() {
  label=$1
  shift
  rm -f "$work"/*
  number=0
  for program in $programs; do
    for check in '' --check; do
      [ -z "$check" ] || runs_checked "$program" || continue
      number=$((number + 1))
      # shellcheck disable=SC2086 # $check is empty or one word
      "$program" run "$@" $check --quiet --json "$work/$number.whole" &
    done
  done
  wait
  number=0
  for program in $programs; do
    for check in '' --check; do
      [ -z "$check" ] || runs_checked "$program" || continue
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

# Policies are written as ORDER:BACKFILL:PLACEMENT:PREEMPTION. Orders whose keys are fixed at submission:
plain='fifo:strict:best-fit:auto sjf:skip:worst-fit:auto fifo:easy:pool:auto smallest:easy:best-fit:auto
  priority:conservative:first-fit:auto'
# Orders whose keys are floating-point numbers or change while jobs wait, and policies that preempt jobs:
others='srtf:skip:pool:auto las:skip:best-fit:auto gittins:easy:pool:auto edf:skip:best-fit:order f1:easy:best-fit:auto
  wfp3:conservative:best-fit:auto qssf:skip:pool:auto fair-share:easy:best-fit:auto drf:skip:worst-fit:auto
  multifactor:conservative:pool:auto priority:skip:best-fit:priority fifo:skip:first-fit:priority'

# compare_policies LABEL POLICIES ARGUMENTS...: calls compare for each policy.
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
[ -n "$check_all" ] || checked=$1
if [ -e "$helios" ]; then
  compare_policies helios "$plain" "$source_dir/scenarios/helios.json" --trace "$helios"
else
  echo "*** SKIPPED: real trace $helios is missing ***"
fi
echo "digests: $# programs, $failures differences"
[ "$failures" -eq 0 ]
