# SPDX-License-Identifier: GPL-3.0-or-later
# 31 days of the jobs of an agency that works for three clients. Time 0 is midnight of a Monday.
#
#   awk -v moved=0 -f traces/reference/agency.awk    all jobs on A100s, each client at its own provider
#   awk -v moved=1 -f traces/reference/agency.awk    the same work, each kind of job on the GPU type that suits it
#   awk -v free=1 -f traces/reference/agency.awk     as with moved=0, but only inference and the jobs of the client
#                                                    health, whose data must not leave their region, have a region
#
# In inference, an L4 has 0.42 times the speed of an A100. Three L4 replace one A100, and a batch job takes 1 / 0.42
# times as long.
function job(client, kind, day, hour, hours, gpus, class, gpu, region) {
  printf "%s-%s-%d,%d,%d,%d,%s,%s,%d,%s,%s\n", client, kind, ++count[client, kind], (day * 24 + hour) * 3600, \
    hours * 3600, gpus, client, class, class == "inference", moved ? gpu : "A100-40", \
    free && class != "inference" && client != "health" ? "" : region
}
BEGIN {
  aws = "us-east-1"; gcp = "us-central1"; lambda = moved ? gcp : "us-south-1"
  print "job_id,submit_s,duration_s,gpus,tenant,class,priority,gpu_type,regions"
  for (day = 0; day <= 30; day++) {
    for (replica = 1; replica <= (moved ? 3 : 1); replica++) {
      job("retail", "serve", day, 0, 24, 1, "inference", "L4", aws)
      job("health", "serve", day, 0, 24, 1, "inference", "L4", gcp)
    }
    job("media", "score", day, 20, moved ? 4 / 0.42 : 4, 1, "batch-inference", "L4", lambda)
    if (day % 7 > 4) continue
    job("media", "notebook", day, 9, 8, 1, "interactive", "L4", lambda)
    job("health", "try", day, 10, 3, 1, "training", "A100-40", gcp)
    for (tune = 0; tune < 6; tune++) job("retail", "tune", day, 9 + tune, 8, 4, "training", "A100-40", aws)
  }
}
