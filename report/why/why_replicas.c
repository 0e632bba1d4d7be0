/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The waits of replicas of inference services in the output of `headroom why`, apart from those of the jobs of the
 * trace. The waits have replicas if they were created with the trace of the run, which has a row for each replica after
 * the jobs of the input; struct hr_why has the trace of the input. As an input has no rows for replicas, jobs with a
 * larger id are replicas.
 */

#include "report/why/why.h"

#include <stdlib.h>

/* The sums over all replicas. */
struct replica_waits {
  uint32_t n_replicas, n_waited;
  uint32_t n_of[HR_N_WAIT_REASONS]; /* number of replicas that waited for each reason */
  hr_amount us[HR_N_WAIT_REASONS], all_us;
};

static struct replica_waits add_up(const struct hr_why *why) {
  const uint32_t n_jobs = why->trace->n_jobs;
  struct replica_waits sums = {.n_replicas = why->result->n_jobs > n_jobs ? why->result->n_jobs - n_jobs : 0};
  const struct hr_wait *waits;
  const size_t count = hr_waits_all(why->waits, &waits);
  uint32_t last[HR_N_WAIT_REASONS], last_job = HR_NONE; /* waits are sorted by job */
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) last[i] = HR_NONE;
  for (size_t i = 0; i < count; i++) {
    const struct hr_wait_part *parts = hr_waits_parts(why->waits, &waits[i]);
    const uint32_t job = waits[i].job.id;
    for (uint32_t k = 0; job >= n_jobs && k < waits[i].n_parts; k++) {
      if (parts[k].us == 0) continue;
      sums.n_of[parts[k].reason] += last[parts[k].reason] != job;
      sums.n_waited += last_job != job;
      last[parts[k].reason] = last_job = job;
      sums.us[parts[k].reason] += parts[k].us;
      sums.all_us += parts[k].us;
    }
  }
  return sums;
}

/* Returns the reason with the longest time that is not in `done`; HR_N_WAIT_REASONS: none. */
static uint32_t next_reason(const struct replica_waits *sums, bool done[HR_N_WAIT_REASONS]) {
  uint32_t best = HR_N_WAIT_REASONS;
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++)
    if (!done[i] && sums->us[i] > 0 && (best == HR_N_WAIT_REASONS || sums->us[i] > sums->us[best])) best = i;
  if (best < HR_N_WAIT_REASONS) done[best] = true;
  return best;
}

/* Writes all reasons, such as "booting 67 %, capacity 33 %". */
static void put_reasons(FILE *out, const struct replica_waits *sums) {
  bool done[HR_N_WAIT_REASONS] = {false};
  const char *comma = "";
  for (uint32_t reason; (reason = next_reason(sums, done)) < HR_N_WAIT_REASONS; comma = ", ") {
    char number[HR__NUMBER_BYTES];
    const double share = 100 * (double)sums->us[reason] / (double)sums->all_us;
    fprintf(out, "%s%s %s %%", comma, hr_wait_reason_name((enum hr_wait_reason_kind)reason),
            share < 0.5 ? "<1" : hr__fixed_text(share, 0, number));
  }
}

void hr__why_put_replicas(struct hr__console *console, const struct hr_why *why) {
  const struct replica_waits sums = add_up(why);
  char text[3][HR__NUMBER_BYTES], *reasons = NULL;
  size_t size = 0;
  if (sums.n_replicas == 0) return;
  hr__count_text(sums.n_replicas, text[0]);
  if (sums.n_waited == 0 && sums.n_replicas == 1) {
    hr__put_field(console, "replicas", "the only replica of services did not wait for GPUs");
    return;
  }
  if (sums.n_waited == 0) {
    hr__put_field(console, "replicas", "none of the %s replicas of services waited for GPUs", text[0]);
    return;
  }
  FILE *out = open_memstream(&reasons, &size);
  if (out) put_reasons(out, &sums);
  if (out && fclose(out) == 0)
    hr__put_field(console, "replicas", "%s of %s replica%s of services waited for GPUs, %s in total: %s",
                  hr__count_text(sums.n_waited, text[1]), text[0], hr__plural(sums.n_replicas),
                  hr__duration_text((double)sums.all_us / (double)HR_SECOND_US, text[2]), reasons);
  else
    console->out_of_memory = true;
  free(reasons);
}

void hr__why_json_replicas(struct hr__json *json, cJSON *root, const struct hr_why *why) {
  const struct replica_waits sums = add_up(why);
  bool done[HR_N_WAIT_REASONS] = {false};
  if (sums.n_replicas == 0) return;
  cJSON *object = hr__json_object(json, root, "replicas");
  hr__json_count(json, object, "count", sums.n_replicas);
  hr__json_count(json, object, "waited", sums.n_waited);
  hr__json_number(json, object, "wait_s", (double)sums.all_us / (double)HR_SECOND_US);
  cJSON *array = hr__json_array(json, object, "reasons");
  for (uint32_t reason; (reason = next_reason(&sums, done)) < HR_N_WAIT_REASONS;) {
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, item, "reason", hr_wait_reason_name((enum hr_wait_reason_kind)reason));
    hr__json_count(json, item, "replicas", sums.n_of[reason]);
    hr__json_number(json, item, "wait_s", (double)sums.us[reason] / (double)HR_SECOND_US);
  }
}
