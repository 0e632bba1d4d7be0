# SPDX-License-Identifier: GPL-3.0-or-later
# A day of inference jobs for BERT-large. Arrivals are a Poisson process (by thinning); the mean time between jobs is
# 12 s at noon and 36 s at midnight. Run times are for a T4: about log-normal, median 180 s, sigma 0.5.
#
#   awk -f traces/reference/plan-l4-or-t4.awk
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
  print "submit_s,duration_s,gpus,class,model"
  for (;;) {
    at_s += -12 * log(uniform())
    if (at_s >= 86400) break
    duration_s = int(180 * exp(0.5 * normal()) + 0.5)
    if (uniform() < (2 - cos(2 * 3.14159265358979 * at_s / 86400)) / 3)
      printf "%d,%d,1,inference,bert-large-inference\n", int(at_s), duration_s
  }
}
