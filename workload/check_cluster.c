/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that can never run on the cluster, by the engine's own rules; the rest of what is held against it follows. */

#include "headroom/why.h"
#include "report/text.h"
#include "workload/against.h"

#include <stdlib.h>

enum { REASONS = 256, MOST_TYPES = 8 };

/* ---- Which never run ---------------------------------------------------------------------------------- */

static bool open_cluster(const struct hr__checker *checker, struct hr__against *against) {
  const struct hr_scenario *scenario = checker->scenario;
  const struct hr_trace *trace = checker->trace;
  return hr__speeds_init(&against->speeds, &against->arena, scenario->speeds, &scenario->cluster, trace) == HR_OK &&
         hr__cluster_init(&against->cluster, &against->arena, &scenario->cluster, trace, scenario->classes,
                          &against->speeds) == HR_OK;
}

static bool find_refusals(const struct hr__checker *checker, struct hr__against *against) {
  against->refusal = malloc(checker->n * sizeof *against->refusal);
  for (uint32_t i = 0; against->refusal && i < checker->n; i++)
    against->refusal[i] = (uint8_t)hr__cluster_never_fits(&against->cluster, (hr_job){i});
  return against->refusal != NULL;
}

/* ---- By reason ---------------------------------------------------------------------------------------- */

struct group {
  uint32_t count, first;
};

static void add(struct group *group, uint32_t job) {
  if (group->count++ == 0) group->first = job;
}

/* Whether it is the types that the job names. */
static bool is_of_type(const struct hr_trace *trace, const struct hr__against *against, uint32_t job) {
  return against->refusal[job] == HR_REASON_NO_GPU_TYPE && trace->gpu_types && trace->gpu_types[job] != HR_NONE;
}

static void tell_reason(struct hr__checker *checker, enum hr_reason reason, const struct group *group) {
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], gpus[HR__NUMBER_BYTES];
  uint32_t asked = checker->trace->gpus[group->first];
  hr__find(checker, HR_FINDING_NEVER_FITS, HR_SEVERITY_ERROR,
           &(struct hr__where){
               .count = group->count, .of = checker->n, .job = group->first, .subject = hr_reason_name(reason)},
           "%s job%s (%s) can never run on this cluster: %s (%s); the first asks for %s GPU%s",
           hr__count_text(group->count, text), hr__plural(group->count),
           hr__share_text((double)group->count / checker->n, of), hr_rejection_words(reason), hr_reason_name(reason),
           hr__count_text(asked, gpus), hr__plural(asked));
}

static void tell_type(struct hr__checker *checker, const char *types, const struct group *group) {
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_UNKNOWN_GPU_TYPE, HR_SEVERITY_ERROR,
           &(struct hr__where){.count = group->count, .of = checker->n, .job = group->first, .subject = types},
           "%s job%s (%s) %s for %.60s, which the cluster does not have", hr__count_text(group->count, text),
           hr__plural(group->count), hr__share_text((double)group->count / checker->n, of),
           group->count == 1 ? "asks" : "ask", types);
}

/* One finding for each of the first lists, one for all others. */
static void tell_types(struct hr__checker *checker, const struct group *lists) {
  const struct hr_names *names = &checker->trace->gpu_type_lists;
  struct group rest = {0, HR_NONE};
  uint32_t told = 0;
  for (uint32_t i = 0; i < names->count; i++) {
    if (!lists[i].count) continue;
    if (told++ < MOST_TYPES) {
      tell_type(checker, names->text[i], &lists[i]);
      continue;
    }
    rest.count += lists[i].count;
    if (lists[i].first < rest.first) rest.first = lists[i].first;
  }
  if (rest.count) tell_type(checker, "other types", &rest);
}

void hr__check_fit(struct hr__checker *checker, const struct hr__against *against) {
  const struct hr_trace *trace = checker->trace;
  struct group reasons[REASONS] = {{0}};
  struct group *lists = calloc((size_t)trace->gpu_type_lists.count + 1, sizeof *lists);
  if (!lists) {
    checker->out_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < checker->n; i++) {
    if (against->refusal[i] == HR_REASON_NONE) continue;
    add(is_of_type(trace, against, i) ? &lists[trace->gpu_types[i]] : &reasons[against->refusal[i]], i);
  }
  for (unsigned reason = 1; reason < REASONS; reason++)
    if (reasons[reason].count) tell_reason(checker, (enum hr_reason)reason, &reasons[reason]);
  tell_types(checker, lists);
  free(lists);
}

void hr__check_cluster(struct hr__checker *checker) {
  if (!checker->scenario) return;
  struct hr__against against = {0};
  if (open_cluster(checker, &against) && find_refusals(checker, &against)) {
    hr__check_fit(checker, &against);
    hr__check_load(checker, &against);
  } else {
    checker->out_of_memory = true;
  }
  free(against.refusal);
  hr__arena_finish(&against.arena);
}
