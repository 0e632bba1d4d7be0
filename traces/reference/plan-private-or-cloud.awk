# SPDX-License-Identifier: GPL-3.0-or-later
# Four weeks of training jobs on whole nodes of 8 GPUs. Time 0 is midnight of a Monday. Jobs arrive from 8:00 to 20:00,
# most of them on weekdays. The jobs need about 6 nodes on average.
#
#   awk -f traces/reference/plan-private-or-cloud.awk
#
# Random numbers are from Park and Miller's generator (CACM 31:10, 1988), because rand() differs between
# implementations of awk.
function uniform() { # in (0, 1)
  state = state * 16807 % 2147483647
  return state / 2147483647
}
function normal(   sum, i) { # about normal: the sum of twelve uniform numbers minus its mean
  for (i = 0; i < 12; i++) sum += uniform()
  return sum - 6
}
BEGIN {
  state = 1
  print "job_id,submit_s,duration_s,gpus,tenant,class"
  for (day = 0; day < 28; day++) {
    wanted = day % 7 > 4 ? 4 : 14
    hour = 8
    for (i = 1; ; i++) {
      hour += -12 / wanted * log(uniform())
      if (hour >= 20) break
      duration_s = int(8 * 3600 * exp(0.8 * normal()))
      printf "train-%d-%d,%d,%d,%d,research,training\n", day + 1, i, day * 86400 + int(hour * 3600), duration_s, \
        uniform() < 0.8 ? 8 : 16
    }
  }
}
