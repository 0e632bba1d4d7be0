# SPDX-License-Identifier: GPL-3.0-or-later
# Four hours of small inference jobs. Each job occurs four times, once for each way of sharing GPUs; each way has its
# own tenant.
#
#   awk -f traces/reference/shared-inference.awk
#
# For each way there are 1,200 jobs. Arrivals are a Poisson process; the mean time between jobs is 12 s. Run times are
# for a T4: about log-normal, median 281 s, sigma 0.5, so the mean is 319 s. If each job had a T4 of its own, the jobs
# would use 70 % of 38 T4s until the last submit. Each job requests 1/7 of a GPU (142 thousandths) and 5 GB of GPU
# memory.
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
