/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a row for each recorded run of a real Slurm: the number of its decisions, shares and priorities that the model
   reproduces. Started by live.sh.

     slurm_compare FOLDER... */

#include "recorded.h"

#include <string.h>

static double percent(uint32_t part, uint32_t all) {
  return all ? 100.0 * part / all : 0;
}

static void print_row(const struct recorded *run) {
  const char *slash = strrchr(run->folder, '/');
  const struct decisions decisions = compare_decisions(run);
  const struct agreement agreement = compare_samples(run);
  printf("%-16s %8u %6.1f %% %6.1f %% %10u %8u %12u/%-6u %6u/%u\n", slash ? slash + 1 : run->folder,
         (unsigned)decisions.n_starts, percent(decisions.n_started, decisions.n_starts),
         percent(decisions.n_same_nodes, decisions.n_started), (unsigned)decisions.n_preempting,
         (unsigned)agreement.n_samples, (unsigned)agreement.n_equal_shares, (unsigned)agreement.n_shares,
         (unsigned)agreement.n_equal_priorities, (unsigned)agreement.n_priorities);
}

int main(int argc, char **argv) {
  static struct recorded run;
  int code = argc < 2 ? 2 : 0;
  printf("%-16s %8s %8s %8s %10s %8s %19s %13s\n", "run", "starts", "in 2 s", "nodes", "preempting", "samples",
         "rows of sshare", "of sprio");
  for (int i = 1; i < argc; i++) {
    if (recorded_read(&run, argv[i]))
      print_row(&run);
    else
      code = 2;
  }
  return code;
}
