# SPDX-License-Identifier: GPL-3.0-or-later
# Four weeks of jobs for nodes of 8 GPUs. Time 0 is midnight of a Monday. Inference always uses four nodes. Training
# jobs arrive at random from 8:00 to 20:00, most of them on weekdays.
#
#   awk -f traces/reference/plan-reserved-share.awk
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
    for (i = 1; i <= 4; i++) printf "serve-%d-%d,%d,86400,8,serving,inference\n", day + 1, i, day * 86400
    wanted = day % 7 > 4 ? 3 : 12
    hour = 8
    for (i = 1; ; i++) {
      hour += -12 / wanted * log(uniform())
      if (hour >= 20) break
      duration_s = int(4 * 3600 * exp(0.7 * normal()))
      size = uniform()
      printf "train-%d-%d,%d,%d,%d,research,training\n", day + 1, i, day * 86400 + int(hour * 3600), duration_s, \
        size < 0.7 ? 8 : size < 0.95 ? 16 : 32
    }
  }
}
