/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts that the trace does not tell, of all jobs or of some, and what a run takes in their place (hr_finding_meaning).
 */

#include "report/text.h"
#include "workload/checking.h"

#include <inttypes.h>

struct fact {
  enum hr_finding_code code;
  const char *word;
  uint32_t told; /* jobs of which it is told */
};

static uint32_t count_names(const uint32_t *column, uint32_t n) {
  uint32_t told = 0;
  for (uint32_t i = 0; column && i < n; i++) told += column[i] != HR_NONE;
  return told;
}

static uint32_t count_times(const int64_t *column, uint32_t n) {
  uint32_t told = 0;
  for (uint32_t i = 0; column && i < n; i++) told += column[i] != HR_UNKNOWN_US;
  return told;
}

static uint32_t count_bytes(const uint8_t *column, uint32_t n) {
  uint32_t told = 0;
  for (uint32_t i = 0; column && i < n; i++) told += column[i] != 0;
  return told;
}

static uint32_t count_sizes(const uint64_t *column, uint32_t n) {
  uint32_t told = 0;
  for (uint32_t i = 0; column && i < n; i++) told += column[i] != 0;
  return told;
}

static void tell(struct hr__checker *checker, const struct fact *fact) {
  uint32_t missing = checker->n - fact->told;
  char text[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  const struct hr__where where = {.count = missing, .of = checker->n, .job = HR_NONE};
  if (fact->told == 0)
    hr__find(checker, fact->code, HR_SEVERITY_NOTE, &where, "no job tells its %s", fact->word);
  else if (missing)
    hr__find(checker, fact->code, HR_SEVERITY_NOTE, &where, "%s job%s (%s) do%s not tell %s %s",
             hr__count_text(missing, text), hr__plural(missing), hr__share_text((double)missing / checker->n, share),
             missing == 1 ? "es" : "", missing == 1 ? "its" : "their", fact->word);
}

void hr__check_missing(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t n = checker->n;
  const struct fact facts[] = {
      {HR_FINDING_NO_USERS, "user", count_names(trace->user, n)},
      {HR_FINDING_NO_TENANTS, "tenant", count_names(trace->tenant, n)},
      {HR_FINDING_NO_CLASSES, "class", count_bytes(trace->class_, n)},
      {HR_FINDING_NO_OUTCOMES, "outcome", count_bytes(trace->outcome, n)},
      {HR_FINDING_NO_LIMITS, "limit", count_times(trace->limit_us, n)},
      {HR_FINDING_NO_GPU_TYPES, "GPU type", count_names(trace->gpu_types, n)},
      {HR_FINDING_NO_GPU_MEMORY, "GPU memory", count_sizes(trace->gpu_mem_mib, n)},
      {HR_FINDING_NO_CHECKPOINTS, "checkpoint interval", count_times(trace->checkpoint_interval_us, n)},
      {HR_FINDING_NO_RECORDED_STARTS, "recorded start", count_times(trace->recorded_start_us, n)}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) tell(checker, &facts[i]);
}
