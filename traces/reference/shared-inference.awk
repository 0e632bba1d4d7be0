# SPDX-License-Identifier: GPL-3.0-or-later
# Four hours of small inference jobs, each standing four times: once for each way of sharing GPUs, as a tenant of its own.
#
#   awk -f traces/reference/shared-inference.awk
#
# 1,200 jobs, 12 s apart on average (Poisson). Recorded run time on a T4: about log-normal, median 281 s, sigma 0.5, so
# 319 s on average: 70 % of 38 T4s for as long as jobs come. Each asks for 1/7 of a GPU, 142 thousandths, and 5 GB of its
# memory. Numbers are drawn by Park and Miller's generator (CACM 31:10, 1988), as rand() differs between awks.
function uniform() { # in (0, 1)
  state = state * 16807 % 2147483647
  return state / 2147483647
}
function normal(   sum, i) { # the sum of twelve, less its mean
  for (i = 0; i < 12; i++) sum += uniform()
  return sum - 6
}
function job(submit_s, duration_s, tenant, gpu, region) {
  printf "%d,%d,1,142,5,%s,inference,bert-large-inference,%s,%s\n", submit_s, duration_s, tenant, gpu, region
}
BEGIN {
  state = 1
  print "submit_s,duration_s,gpus,gpu_milli,gpu_mem_gb,tenant,class,model,gpu_type,regions"
  for (i = 0; i < 1200; i++) {
    duration_s = int(281 * exp(0.5 * normal()) + 0.5)
    job(submit_s, duration_s, "t4-whole", "T4", "us-east-1")
    job(submit_s, duration_s, "l4-time-slice", "L4", "us-east-1")
    job(submit_s, duration_s, "a100-mig", "A100-80", "us-east-1")
    job(submit_s, duration_s, "a100-mps", "A100-80", "us-west-2")
    gap_s += -12 * log(uniform())
    submit_s = int(gap_s)
  }
}
