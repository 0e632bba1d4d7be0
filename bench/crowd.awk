# SPDX-License-Identifier: GPL-3.0-or-later
# Prints a trace of n jobs that are submitted within n milliseconds, with 1 to 16 GPUs, of 200 users and 20 tenants.
#
#   awk -v n=JOBS -f crowd.awk
BEGIN {
  srand(7)
  print "job_id,submit_s,duration_s,gpus,limit_s,user,tenant"
  for (i = 1; i <= n; i++) {
    gpus = 2 ^ int(rand() * 5); seconds = int(60 + rand() * 7200)
    printf "%d,%.3f,%d,%d,%d,u%d,a%d\n", i, i / 1000, seconds, gpus, seconds * (1 + rand()), rand() * 200, rand() * 20
  }
}
