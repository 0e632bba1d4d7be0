/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many GPUs jobs ask for: counts that fill no node, fractions that were rounded up, none at all. */

#include "report/text.h"
#include "workload/checking.h"

enum { USUAL_NODE_GPUS = 8 };

/* Whether whole nodes of that size are filled by some such requests, or it fills whole nodes. */
static bool divides(uint32_t gpus, uint32_t node_gpus) {
  return node_gpus && (gpus % node_gpus == 0 || node_gpus % gpus == 0);
}

static bool fills_nodes(const struct hr__checker *checker, uint32_t gpus) {
  const struct hr_scenario *scenario = checker->scenario;
  if (!scenario) return divides(gpus, USUAL_NODE_GPUS);
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].nodes && divides(gpus, scenario->cluster.pools[i].gpus_per_node)) return true;
  return false;
}

/* A job of several tasks asks task by task. */
static void check_odd(struct hr__checker *checker) {
  enum { LEAST = 20, SHARE = 5 };
  const struct hr_trace *trace = checker->trace;
  uint32_t several = 0, odd = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    uint32_t gpus = trace->gpus[i] / (trace->tasks && trace->tasks[i] ? trace->tasks[i] : 1);
    if (gpus < 2) continue;
    several++;
    if (!fills_nodes(checker, gpus) && odd++ == 0) first = i;
  }
  if (!odd) return;
  double share = (double)odd / several;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], size[HR__NUMBER_BYTES];
  bool many = several >= LEAST && odd >= several / SHARE;
  hr__find(
      checker, HR_FINDING_ODD_SIZES, many ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__where){.count = odd, .of = several, .job = first},
      "%s job%s (%s of those with several GPUs) ask%s for a number that neither divides nor is a multiple of %s, the "
      "first for %s",
      hr__count_text(odd, text), hr__plural(odd), hr__share_text(share, of), odd == 1 ? "s" : "",
      checker->scenario ? "a node's GPUs" : "8, the usual node", hr__count_text(trace->gpus[first], size));
}

/* Three of four jobs ask for one whole GPU, and no share of a GPU is told. */
static void check_single(struct hr__checker *checker) {
  enum { LEAST = 100 };
  const struct hr_trace *trace = checker->trace;
  uint32_t asking = 0, single = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    asking += trace->gpus[i] > 0;
    single += trace->gpus[i] == 1;
  }
  if (trace->gpu_milli || trace->mig_profile || asking < LEAST || single < asking - asking / 4) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_ALL_SINGLE_GPU, HR_SEVERITY_NOTE,
           &(struct hr__where){.count = single, .of = asking, .job = HR_NONE},
           "%s jobs (%s of those with GPUs) ask for one whole GPU, and no job for a share of one",
           hr__count_text(single, text), hr__share_text((double)single / asking, of));
}

static void check_none(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t without = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++)
    if (trace->gpus[i] == 0 && without++ == 0) first = i;
  if (!without) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_WITHOUT_GPUS, without == checker->n ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = without, .of = checker->n, .job = first}, "%s job%s (%s) ask%s for no GPU",
           hr__count_text(without, text), hr__plural(without), hr__share_text((double)without / checker->n, of),
           without == 1 ? "s" : "");
}

void hr__check_sizes(struct hr__checker *checker) {
  check_odd(checker);
  check_single(checker);
  check_none(checker);
}
