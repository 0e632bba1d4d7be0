#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs a real Slurm on this machine, and compares the model of Slurm with it. Needs root (Debian's packages, jobs of
# several users). The started processes listen on loopback only, and are stopped at the end, also after Ctrl-C. The
# services and files of the machine are not changed.
#
#   live.sh BUILD [OPTION...]    BUILD: build folder with the program headroom
#     --out DIR        folder for the records (default: BUILD/slurm-live)
#     --kinds LIST     configurations: fifo,multifactor,qos (default: all three)
#     --repeats N      runs of each configuration (default: 3)
#     --jobs N         jobs of a run (default: 180)
#     --compress F     gaps and run times are divided by F (default: 1; a run of 180 jobs then takes 15 minutes)
#     --seed N         of the workload (default: 1)
#     --parallel N     runs at the same time, each with a Slurm of its own (default: 1)
#     --port N         first of 100 ports, and more if runs are parallel (default: 17000)
#     --record         only records; --compare: only compares records that exist
set -euo pipefail
export TZ=UTC LC_ALL=C

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"

say() {
  printf 'slurm_live: %s\n' "$*"
}

fail() {
  printf 'slurm_live: %s\n' "$*" >&2
  exit 1
}

# ---- Options --------------------------------------------------------------------------------------------------

build=$(realpath -- "${1:?the build folder is missing}")
shift
out=$build/slurm-live kinds=fifo,multifactor,qos repeats=3 jobs=180 compress=1 seed=1 parallel=1 port=17000
do_record=yes do_compare=yes
while [ $# -gt 0 ]; do
  case $1 in
    --record) do_compare=no ;;
    --compare) do_record=no ;;
    --out | --kinds | --repeats | --jobs | --compress | --seed | --parallel | --port)
      [ $# -ge 2 ] || fail "$1: the value is missing"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    *) fail "unknown option '$1'; the options are at the beginning of $0" ;;
  esac
  shift
done

# ---- Packages -------------------------------------------------------------------------------------------------

# Debian's packages start their services when they are installed; a policy file prevents this.
install_packages() {
  local policy=/usr/sbin/policy-rc.d
  if command -v slurmctld slurmd slurmdbd munged mariadbd >/dev/null && [ -e "$(wrapper_path)" ]; then return 0; fi
  [ "$(id -u)" -eq 0 ] || fail "needs root to install packages and to run jobs of several users"
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    "$root/setup.sh" packages slurm || { rm -f "$policy"; exit 1; }
    rm -f "$policy"
  else
    "$root/setup.sh" packages slurm
  fi
}

wrapper_path() {
  dpkg -L libnss-wrapper 2>/dev/null | grep '\.so$' | head -n 1
}

# ---- One run --------------------------------------------------------------------------------------------------

# submit_all KIND: submits the workload, each job at its time.
submit_all() {
  local start now number at user account qos nodes_of_job gpus_per_node limit run
  start=$(date +%s.%N)
  while read -r number at user account qos nodes_of_job gpus_per_node limit run; do
    now=$(date +%s.%N)
    sleep "$(awk -v at="$at" -v start="$start" -v now="$now" 'BEGIN { d = start + at - now; print (d > 0 ? d : 0) }')"
    on_cluster sbatch --quiet --uid="$user" --gid="$user" -A "$account" --qos="$qos" -p gpu -N "$nodes_of_job" \
      --ntasks-per-node=1 --gres="gpu:a100:$gpus_per_node" --mem=1G -t "$limit" -J "$1-$number" -o /dev/null -D / \
      --export=HEADROOM_SLURM_LIVE="$base" --wrap "exec sleep $run" 2>>"$dir/sbatch.log" ||
      fail "sbatch: $(tail -n 1 "$dir/sbatch.log")"
  done <"$dir/workload"
}

all_jobs_ended() {
  [ -z "$(on_cluster squeue -h -o %i)" ]
}

save_records() {
  on_cluster sacct -D -a -X -P --starttime=2000-01-01 --format="$1" >"$dir/run.sacct.all"
  on_cluster sacct -a -X -P --starttime=2000-01-01 --format="$1" >"$dir/run.sacct"
  on_cluster sacctmgr -i -Q dump headroom file="$dir/accounts.cfg" >/dev/null 2>&1
  on_cluster sacctmgr -P show qos >"$dir/qos.txt"
  on_cluster scontrol show node -o >"$dir/nodes.txt"
  on_cluster scontrol show partition -o >"$dir/partitions.txt"
  on_cluster scontrol show config >"$dir/config.txt"
  on_cluster sinfo -N -o '%N %P %t %c %m %G' >"$dir/sinfo.txt"
}

# record KIND REPEAT FIRST_PORT
record() {
  local columns=JobID,JobName,User,Account,Partition,State,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,TimelimitRaw
  columns=$columns,AllocTRES,ReqTRES,NNodes,NodeList,Priority,QOS,ExitCode
  dir=$base/$1-$2
  start_cluster "$1" "$3"
  say "$1, run $2: started"
  awk -v kind="$1" -v jobs="$jobs" -v seed="$seed" -v compress="$compress" -f "$here/workload.awk" >"$dir/workload"
  touch "$dir/sampling"
  daemon "$dir/sample.out" SLURM_CONF="$dir/slurm.conf" "$here/sample.sh" "$dir" 10
  submit_all "$1"
  until all_jobs_ended; do sleep 2; done
  rm "$dir/sampling"
  sleep 3 # the last records reach the database
  save_records "$columns"
  keep_records "$1-$2"
  say "$1, run $2: $(($(wc -l <"$dir/run.sacct") - 1)) jobs ended"
}

# keep_records NAME: copies the records to the files that slurm_compare reads (recorded.h). Replaces the paths of this
# run.
keep_records() {
  local to=$out/$1 file at
  rm -rf "$to"
  mkdir -p "$to"
  cp "$dir/workload" "$dir/load" "$to"
  for file in run.sacct run.sacct.all accounts.cfg qos.txt nodes.txt partitions.txt config.txt sinfo.txt slurm.conf \
    gres.conf slurmctld.log; do
    sed "s|$dir|/tmp/slurm|g; s|$base|/tmp|g; s/$(uname -n)/localhost/g" "$dir/$file" >"$to/$file"
  done
  for file in "$dir"/samples/*.sshare; do
    at=${file%.sshare}
    echo "@ ${at##*/}"
    cut -d'|' -f1-9 "$file"
    cat "$at.sprio"
  done >"$to/samples"
  sed -nE 's/^\[([^]]*)\].*(_read_last_decay_ran|Decay factor over).*/\1/p' "$to/slurmctld.log" >"$to/ticks"
  sed -nE 's/^\[([^]]*)\] _job_complete: JobId=([0-9]+) done.*/\2 end \1/p
    s/^\[([^]]*)\] (sched: Allocate|sched\/backfill: _start_job: Started) JobId=([0-9]+) .*/\3 start \1/p' \
    "$to/slurmctld.log" >"$to/times"
}

# ---- All runs -------------------------------------------------------------------------------------------------

stop() {
  trap '' INT TERM
  # shellcheck disable=SC2046 # a list of numbers
  kill $(jobs -p) 2>/dev/null || :
  stop_all
  if [ -n "$(ours)" ]; then say "these processes are left: $(ours)"; fi
  if [ "${failed:-yes}" = no ]; then rm -rf "$base"; else say "the logs are in $base"; fi
}

record_all() {
  local kind repeat first=$((port + 1)) pids=()
  failed=yes
  install_packages
  nss_wrapper=$(wrapper_path)
  base=$(mktemp -d /tmp/headroom-slurm.XXXXXX)
  chmod 755 "$base"
  set_wrapped
  trap stop EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  start_shared
  for ((repeat = 1; repeat <= repeats; repeat++)); do
    for kind in ${kinds//,/ }; do
      (trap - EXIT; record "$kind" "$repeat" "$first") &
      pids+=($!)
      first=$((first + nodes + 4))
      if [ "${#pids[@]}" -ge "$parallel" ]; then
        wait "${pids[0]}"
        pids=("${pids[@]:1}")
      fi
    done
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  failed=no
}

# ---- Comparison -----------------------------------------------------------------------------------------------

# Prints the delay of each job of a record: its time from the first submission to the last end, minus the run time of
# its last attempt.
delays_of_record() {
  awk -F'|' 'function seconds(at) {
      return ((substr(at, 9, 2) * 24 + substr(at, 12, 2)) * 60 + substr(at, 15, 2)) * 60 + substr(at, 18, 2)
    }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { job = $column["JobID"]; end = seconds($column["End"]); submit = seconds($column["Submit"])
      if (!(job in first) || submit < first[job]) first[job] = submit
      if (end >= last[job]) { last[job] = end; run[job] = end - seconds($column["Start"]) } }
    END { for (job in first) print job, last[job] - first[job] - run[job] }' "$1" | sort -n | cut -d' ' -f2
}

delays_of_replay() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { print $column["job_id"], $column["end_s"] - $column["submit_s"] - $column["duration_s"] }' "$1" |
    sort -n | cut -d' ' -f2
}

# preemptions_of_replay FILE TRACE: prints the number of preemptions in the replay of a scenario.
preemptions_of_replay() {
  "$build/headroom" compare "$1" --trace "$2" --policies slurm --csv - 2>/dev/null |
    awk -F, '$4 == "preemptions" && $2 == "all" { n = $5 } END { print n + 0 }'
}

# replay KIND: imports the configuration of the first run, replays the submissions of all runs, and prints a row.
replay() {
  local kind=$1 folder delays=() replays=() file preemptions=0
  for folder in "$out/$kind"-*; do
    file=$folder/slurm
    "$build/headroom" import slurm "$folder/slurm.conf" "$folder/gres.conf" "$folder/accounts.cfg" "$folder/qos.txt" \
      "$folder/config.txt" \
      --output "$file.json" >/dev/null 2>"$file.notes" || fail "$(cat "$file.notes")"
    "$build/headroom" run "$file.json" --trace "$folder/run.sacct.all" --jobs "$file.csv" --quiet --json "$file.out" \
      >/dev/null 2>>"$file.notes" || fail "$(tail -n 1 "$file.notes")"
    delays_of_record "$folder/run.sacct.all" >"$file.real"
    delays_of_replay "$file.csv" >"$file.model"
    delays+=("$file.real")
    replays+=("$file.model")
    preemptions=$((preemptions + $(preemptions_of_replay "$file.json" "$folder/run.sacct.all")))
  done
  paste "${delays[@]}" "${replays[@]}" | awk -v n="${#delays[@]}" -v kind="$kind" \
    -v modelled="$preemptions" -v preempted="$(cat "$out/$kind"-*/run.sacct.all | grep -c '|PREEMPTED|')" -v average="$(cat "$out/$kind"-*/load |
      awk '{ sum += $1 } END { printf "%.1f", sum / NR }')" '
    function distance(a, b) { return a > b ? a - b : b - a }
    { mean = 0
      for (i = 1; i <= n; i++) { mean += $i / n; wait[i] += $i; replay += $(n + i) / n }
      for (i = 1; i <= n; i++) error += distance($(n + i), mean) / n
      for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) { spread += distance($i, $j); pairs++ } }
    END { real = ""; sum = 0
      for (i = 1; i <= n; i++) { real = real sprintf(" %.1f", wait[i] / NR); sum += wait[i] / NR / n }
      printf "%-12s %24s %9.1f %9.1f %+7.1f %% %9.1f %9.1f %12s %6s\n", kind, real, sum, replay / NR,
        100 * (replay / NR / sum - 1), error / NR, pairs ? spread / pairs : 0, sprintf("%.1f/%.1f", modelled / n, preempted / n), average }'
}

compare_all() {
  local kind folders=()
  for kind in ${kinds//,/ }; do folders+=("$out/$kind"-*); done
  echo
  echo "Decisions at recorded states, values of sshare and sprio:"
  "$build/tests/slurm_compare" "${folders[@]}" | tee "$out/compare.txt" | grep -v '^  '
  echo
  echo "Free replays: seconds of wait (mean of all jobs), preemptions (replayed/real), load of the machine during the runs"
  printf '%-12s %24s %9s %9s %9s %9s %9s %12s %6s\n' kind 'real runs' mean replayed '' error spread preemptions load
  for kind in ${kinds//,/ }; do replay "$kind"; done
}

if [ "$do_record" = yes ]; then record_all; fi
if [ "$do_compare" = yes ]; then compare_all; fi
