#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Started by live.sh. Every few seconds, writes the state of a Slurm to three files in the folder DIR/samples, which are
# named after the time, and adds the load of the machine to DIR/load. Ends when the file DIR/sampling is removed.
#
#   sample.sh DIR SECONDS    SLURM_CONF is set
dir=$1
mkdir -p "$dir/samples"
while [ -e "$dir/sampling" ]; do
  at=$dir/samples/$EPOCHREALTIME
  sprio -h -l >"$at.sprio" 2>/dev/null
  sshare -l -a -P >"$at.sshare" 2>/dev/null
  squeue -h -a -o '%i|%j|%T|%Q|%r|%S|%N' >"$at.squeue" 2>/dev/null
  cut -d' ' -f1 /proc/loadavg >>"$dir/load"
  sleep "$2"
done
