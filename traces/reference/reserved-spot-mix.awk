# SPDX-License-Identifier: GPL-3.0-or-later
# 30 days of inference and training. Inference always uses 20 GPUs. Training uses 30 GPUs from 8:00 for 9.6 hours, which
# is 40 % of a day.
#
#   awk -f traces/reference/reserved-spot-mix.awk
#
BEGIN {
  print "job_id,submit_s,duration_s,gpus,tenant,class"
  for (i = 1; i <= 20; i++) printf "serve-%d,0,2592000,1,serving,inference\n", i
  split("1 1 1 1 1 1 2 2 2 2 4 4 4 4", gpus, " ")
  for (day = 0; day < 30; day++)
    for (i = 1; i <= 14; i++) printf "train-%d-%d,%d,34560,%d,research,training\n", day + 1, i, day * 86400 + 28800, gpus[i]
}
