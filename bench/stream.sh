#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Packed and streamed traces. Measures the time to load and to run 10 million jobs, in memory and streamed, from a
# packed trace and from a text trace. If JOBS is greater than 10 million, also measures a run of JOBS jobs. The CPU
# seconds per job of this run are compared with those of the run of 10 million jobs. CPU seconds are compared because
# they hardly depend on the load of the machine.
#
#   stream.sh BUILD [JOBS]      BENCH_DATA=BUILD/bench-data unless set; 100 million jobs take 8 GB there
set -eu

build=$1
jobs=${2:-10000000}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"

# generate COUNT: generates a trace as CSV and as a packed file, unless it exists.
generate() {
  [ -s "$data/stream-$1.hrt" ] && return
  echo "generating $1 jobs for 128 nodes x 8 GPUs"
  "$build/headroom" trace generate --count "$1" --load 0.9 --nodes 128 --median-s 600 -o "$data/stream-$1.csv"
  timed pack "$build/headroom" trace pack "$data/stream-$1.csv" -o "$data/stream-$1.hrt" --quiet
  echo "packed in $(figure pack 1) s: $(wc -c <"$data/stream-$1.csv") bytes of text, $(wc -c <"$data/stream-$1.hrt") packed"
}

cat >"$data/stream.json" <<END
{ "name": "stream", "trace": { "file": "none" },
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 128, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" } }
END

# timed NAME COMMAND...: runs the command; its times are in NAME.times and its output in NAME.out.
timed() {
  name=$1
  shift
  "$build/bench/measure" "$@" 3>"$data/$name.times" >"$data/$name.out"
}

# figure NAME FIELD: prints a field of NAME.times.
figure() {
  awk -v field="$2" '{ print $field }' "$data/$1.times"
}

# of NAME KEY: prints the value of a key of the JSON in NAME.out.
of() {
  sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$data/$1.out" | head -n 1
}

# row NAME WHAT TRACE [OPTION...]: runs the trace and prints a row of the table.
row() {
  name=$1 what=$2 trace=$3
  shift 3
  timed "$name" "$build/headroom" run "$data/stream.json" --trace "$data/$trace" --quiet --json - "$@"
  printf '%-34s %9.3f %9.2f %9.2f %9.0f  %s\n' "$what" "$(of "$name" load_s)" "$(of "$name" sim_s)" "$(figure "$name" 2)" \
    "$(awk -v kib="$(figure "$name" 3)" 'BEGIN { print kib / 1024 }')" "$(of "$name" digest)"
}

generate 10000000
printf '%-34s %9s %9s %9s %9s  %s\n' '' 'load, s' 'run, s' 'CPU, s' 'MiB' digest
row memory '10 M packed, in memory' stream-10000000.hrt
row stream '10 M packed, streamed' stream-10000000.hrt --stream
row text '10 M CSV, in memory' stream-10000000.csv
row text-stream '10 M CSV, streamed' stream-10000000.csv --stream
easy=queue:order=fifo,backfill=easy,placement=best-fit
shares=queue:order=fair-share,backfill=skip,placement=best-fit
row easy '10 M packed, EASY, in memory' stream-10000000.hrt --policy "$easy"
row easy-stream '10 M packed, EASY, streamed' stream-10000000.hrt --policy "$easy" --stream
row shares '10 M packed, fair-share, in memory' stream-10000000.hrt --policy "$shares"
row shares-stream '10 M packed, fair-share, streamed' stream-10000000.hrt --policy "$shares" --stream
for pair in memory:stream text:text-stream easy:easy-stream shares:shares-stream; do
  [ "$(of "${pair%:*}" digest)" = "$(of "${pair#*:}" digest)" ] && continue
  echo "FAILED: the digest of the streamed run differs: $pair"
  exit 1
done
[ "$jobs" -gt 10000000 ] || exit 0

generate "$jobs"
row many "$jobs packed, streamed" "stream-$jobs.hrt" --stream
row many-text "$jobs CSV, streamed" "stream-$jobs.csv" --stream
row many-easy "$jobs packed, EASY, streamed" "stream-$jobs.hrt" --policy "$easy" --stream
# goal NAME MANY: compares the CPU time per job of the run MANY with that of the run NAME. Also compares the memory of
# the run MANY with the limit.
goal() {
  awk -v one="$(figure "$1" 2)" -v many="$(figure "$2" 2)" -v times="$jobs" -v kib="$(figure "$2" 3)" -v name="$2" 'BEGIN {
    ratio = many / (one * times / 10000000)
    printf "%s: %.2f times the CPU time per job of 10 M jobs, at most 1.3: %s\n", name, ratio, ratio <= 1.3 ? "met" : "MISSED"
    printf "%s: %.0f MiB, at most 1229: %s\n", name, kib / 1024, kib / 1024 <= 1228.8 ? "met" : "MISSED" }'
}
goal stream many
goal easy-stream many-easy
