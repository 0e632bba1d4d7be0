#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests served per second of CPU time with one, 100 and 1,000 replicas. The trace is that of ../shared/serving.
#
#     bench/services.sh BUILD
set -eu
build=${1:-build/release}
here=$(dirname "$0")
trace=$here/../../shared/serving/traces/azure_conv.csv.gz
if [ ! -f "$trace" ]; then
  echo "skipped: $trace is missing" >&2
  exit 0
fi
services=$build/bench/services
for engine in vllm-v1 vllm-v0 sarathi orca-splitwise; do
  "$services" "$trace" 50 1 round-robin "$engine"
done
for router in round-robin power-of-two least-outstanding token-jsq; do
  "$services" "$trace" 100 100 "$router" vllm-v1
done
for router in power-of-two least-outstanding; do
  "$services" "$trace" 100 1000 "$router" vllm-v1
done
