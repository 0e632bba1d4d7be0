# SPDX-License-Identifier: GPL-3.0-or-later
# Draws the workload of a live run: a Poisson process of jobs. Prints for each job: number, seconds after the start,
# user, account, QOS, nodes, GPUs per node, limit in minutes, seconds of run time. Equal seeds give equal jobs.
#
#   awk -v kind=fifo|multifactor|qos -v jobs=180 -v seed=1 -v compress=1 -f workload.awk
#
# `compress` divides gaps and run times. Slurm's limits are whole minutes.

# Returns a number in [0, 1) from the generator of Park and Miller, which all implementations of awk compute exactly.
function uniform() {
  state = (state * 16807) % 2147483647
  return (state - 1) / 2147483646
}

# Returns one of the words of a list, each with equal probability. Words may be repeated.
function pick(list, words, n) {
  n = split(list, words, " ")
  return words[1 + int(uniform() * n)]
}

BEGIN {
  state = seed * 7919 + 12345
  for (i = 0; i < 20; i++) uniform()
  users["fifo"] = "u1:teama u1:teama u1:teama u2:teama u2:teama u3:teamb u3:teamb u4:teamb"
  users["multifactor"] = "u1:teama u1:teama u2:teama u3:teamb u3:teamb u3:teamb u4:teamb u5:teamb2 u6:teamc u6:teamc"
  users["qos"] = users["fifo"]
  levels["fifo"] = "normal"
  levels["multifactor"] = "normal normal normal fast"
  levels["qos"] = "low low low normal normal high"
  for (i = 1; i <= jobs; i++) {
    at += -log(1 - uniform()) * 2 / compress
    split(pick(users[kind]), who, ":")
    gpus = pick("1 1 1 1 1 1 1 1 2 2 2 2 4 4 4 4 8 8 8 16 24")
    minutes = pick("1 1 1 1 1 2 2 2 3 4")
    run = int(minutes * 60 * (0.3 + 0.6 * uniform()) / compress + 0.5)
    limit = minutes / compress
    if (limit != int(limit)) limit = int(limit) + 1
    nodes = gpus > 8 ? gpus / 8 : 1
    printf "%d %.3f %s %s %s %d %d %d %d\n", i, at, who[1], who[2], pick(levels[kind]), nodes, gpus / nodes, limit,
      (run > 0 ? run : 1)
  }
}
