#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same scenario gives the same bytes from every compiler and optimisation level, with and without --check: the
# digest of the event log and all other figures but those of the wall clock.
#
#   digest.sh SOURCE BUILD    exit 77 when a compiler is missing
set -eu

source_dir=$1
build_dir=$2
helios=$source_dir/../shared/traces/helios-venus/helios_trace.csv.gz
compilers='gcc clang'
levels='-O0 -O3'

for compiler in $compilers; do
  if ! command -v "$compiler" >/dev/null; then
    echo "*** SKIPPED: $compiler is not installed ***"
    exit 77
  fi
done

mkdir -p "$build_dir"
for compiler in $compilers; do
  for level in $levels; do
    dir=$build_dir/$compiler$level
    echo "building with $compiler $level"
    if ! { cmake -S "$source_dir" -B "$dir" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$level" \
      -DCMAKE_BUILD_TYPE= -DHEADROOM_TESTS=OFF &&
      cmake --build "$dir" --target headroom --parallel 2; } >"$dir.log" 2>&1; then
      tail -n 30 "$dir.log"
      exit 1
    fi
  done
done

# compare LABEL ARGUMENTS...: every program's summary, the wall clock's figures left out, against the first one's.
failures=0
compare() {
  label=$1
  shift
  rm -f "$build_dir/first.json"
  for compiler in $compilers; do
    for level in $levels; do
      for check in '' --check; do
        "$build_dir/$compiler$level/headroom" run "$@" $check --quiet --json - |
          sed '/"perf"/,/}/d' >"$build_dir/this.json"
        if ! grep -q '"digest"' "$build_dir/this.json"; then
          echo "FAILED: $label: no digest from $compiler $level $check"
          exit 1
        fi
        [ -e "$build_dir/first.json" ] || mv "$build_dir/this.json" "$build_dir/first.json"
        [ -e "$build_dir/this.json" ] || continue
        if ! cmp -s "$build_dir/first.json" "$build_dir/this.json"; then
          echo "FAILED: $label: $compiler $level $check differs"
          diff "$build_dir/first.json" "$build_dir/this.json" | head -n 20
          failures=$((failures + 1))
        fi
      done
    done
  done
  echo "$label: $(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$build_dir/first.json")"
}

plain='fifo:strict:best-fit:auto sjf:skip:worst-fit:auto fifo:easy:pool:auto smallest:easy:best-fit:auto
  priority:conservative:first-fit:auto'
# Whose keys are worked out in floating point, or move; and who stops others.
others='srtf:skip:pool:auto las:skip:best-fit:auto gittins:easy:pool:auto edf:skip:best-fit:order f1:easy:best-fit:auto
  wfp3:conservative:best-fit:auto qssf:skip:pool:auto fair-share:easy:best-fit:auto drf:skip:worst-fit:auto
  multifactor:conservative:pool:auto priority:skip:best-fit:priority fifo:skip:first-fit:priority'

# compare_policies LABEL POLICIES ARGUMENTS...
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
  echo "*** SKIPPED: real trace $helios is not there ***"
fi
[ "$failures" -eq 0 ]
