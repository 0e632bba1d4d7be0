# SPDX-License-Identifier: GPL-3.0-or-later
# Two weeks of training jobs with one GPU each. Arrivals are a Poisson process with 16 jobs a day on average. The mean
# run time is about 8 hours. The time from the submit to the deadline is 1.2 to 3 times the run time, and at least the
# run time plus one hour.
#
#   awk -f traces/reference/plan-spot-share.awk
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
  print "job_id,submit_s,duration_s,gpus,tenant,class,deadline_s"
  for (i = 1; ; i++) {
    submit_s += int(-5400 * log(uniform()))
    if (submit_s >= 14 * 86400) break
    duration_s = int(7 * 3600 * exp(0.5 * normal()))
    slack_s = (0.2 + 1.8 * uniform()) * duration_s
    printf "train-%d,%d,%d,1,research,training,%d\n", i, submit_s, duration_s, \
      submit_s + duration_s + (slack_s > 3600 ? slack_s : 3600)
  }
}
