# SPDX-License-Identifier: GPL-3.0-or-later
# Four weeks from a Monday's midnight of training on whole nodes of 8 GPUs, most of it begun on weekdays between 8:00 and
# 20:00: some 6 nodes at a time on average.
#
#   awk -f traces/reference/plan-private-or-cloud.awk
#
# Numbers are drawn by Park and Miller's generator (CACM 31:10, 1988), as rand() differs between awks.
function uniform() { # in (0, 1)
  state = state * 16807 % 2147483647
  return state / 2147483647
}
function normal(   sum, i) { # the sum of twelve, less its mean
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
