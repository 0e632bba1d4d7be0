/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Explains the latency of a service and the waits of replicas.
 *
 * The time of the requests of a service, or of one request, is divided among queue, cold start, prompt, transfer, batch
 * and preemption. The parts are computed from the times in the result, in whole microseconds, so they add up exactly.
 *
 * The waits of replicas are apart from those of the jobs of the trace. The waits have replicas if they were created
 * with the trace of the run, which has a row for each replica after the jobs of the input; struct hr_why has the trace
 * of the input. As an input has no rows for replicas, jobs with a larger id are replicas.
 */

#include "headroom/unstable/service_report.h"

#include "report/tables/json_tree.h"
#include "report/why/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARTS = 6 };
static const struct {
  const char *key, *name, *words;
  bool is_always; /* the table has the part even if it is 0 */
} parts_of[N_PARTS] = {{"queue_s", "queue", "arrival to the first iteration, without the cold start", true},
                       {"cold_start_s", "cold start", "no replica is ready, and one is starting"},
                       {"prompt_s", "prompt", "first iteration to the first token", true},
                       {"transfer_s", "transfer", "the KV memory is copied to the replica that decodes"},
                       {"batch_s", "batch", "from the first to the last token, in batches with other requests", true},
                       {"preemption_s", "preemption", "from a loss of memory to the next token", true}};

struct hr_request_parts hr_request_parts_of(const struct hr_served *served, uint32_t request) {
  const struct hr_service_result *result = served->result;
  const int64_t preempted_us = result->preempted_us ? result->preempted_us[request] : 0;
  const int64_t cold_us = result->cold_us ? result->cold_us[request] : 0;
  const int64_t transfer_us = result->transfer_us ? result->transfer_us[request] : 0;
  const int64_t later_us = result->end_us[request] - result->first_token_us[request];
  return (struct hr_request_parts){.queue_us =
                                       result->scheduled_us[request] - served->requests->arrival_us[request] - cold_us,
                                   .cold_start_us = cold_us,
                                   .prompt_us = result->first_token_us[request] - result->scheduled_us[request],
                                   .transfer_us = transfer_us,
                                   .batch_us = later_us - transfer_us - preempted_us,
                                   .preemption_us = preempted_us};
}

/* Sums over requests. */
struct part_sums {
  uint64_t count;
  int64_t us[N_PARTS];
};

static void add(struct part_sums *sums, const struct hr_request_parts *parts) {
  const int64_t us[N_PARTS] = {parts->queue_us,    parts->cold_start_us, parts->prompt_us,
                               parts->transfer_us, parts->batch_us,      parts->preemption_us};
  sums->count++;
  for (size_t i = 0; i < N_PARTS; i++) sums->us[i] += us[i];
}

static bool has_goals(const struct hr_service_slo *slo) {
  return slo->ttft_ms > 0 || slo->tpot_ms > 0 || slo->e2e_ms > 0;
}

static bool misses_goals(const struct hr_served *served, uint32_t id, const struct hr_request_parts *parts) {
  const struct hr_service_slo *slo = &served->service->slo;
  const uint32_t later = served->requests->output_tokens[id] - 1;
  const int64_t ttft_us = parts->queue_us + parts->cold_start_us + parts->prompt_us;
  const int64_t rest_us = parts->transfer_us + parts->batch_us + parts->preemption_us;
  return (slo->ttft_ms > 0 && (double)ttft_us > 1000 * slo->ttft_ms) ||
         (slo->tpot_ms > 0 && later && (double)rest_us / later > 1000 * slo->tpot_ms) ||
         (slo->e2e_ms > 0 && (double)(ttft_us + rest_us) > 1000 * slo->e2e_ms);
}

static double mean_s(const struct part_sums *sums, size_t part) {
  return sums->count ? (double)sums->us[part] / (double)sums->count / (double)HR_SECOND_US : 0;
}

static int64_t e2e_us(const struct part_sums *sums) {
  int64_t sum = 0;
  for (size_t i = 0; i < N_PARTS; i++) sum += sums->us[i];
  return sum;
}

static double e2e_s(const struct part_sums *sums) {
  return sums->count ? (double)e2e_us(sums) / (double)sums->count / (double)HR_SECOND_US : 0;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

static double share_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

static void put_table(FILE *out, const struct part_sums *all, const struct part_sums *missed, bool is_one) {
  fprintf(out, "  %-12s %12s %8s", "part", is_one ? "time" : "mean", "share");
  if (missed->count) fprintf(out, " %20s %8s", "mean of missed", "share");
  fputc('\n', out);
  for (size_t i = 0; i < N_PARTS; i++) {
    if (!all->us[i] && !parts_of[i].is_always) continue;
    fprintf(out, "  %-12s %10.6f s %6.1f %%", parts_of[i].name, mean_s(all, i), share_of(mean_s(all, i), e2e_s(all)));
    if (missed->count)
      fprintf(out, " %18.6f s %6.1f %%\n", mean_s(missed, i), share_of(mean_s(missed, i), e2e_s(missed)));
    else
      fprintf(out, "  %s\n", parts_of[i].words);
  }
  fprintf(out, "  %-12s %10.6f s %6.1f %%", "E2E", e2e_s(all), 100.0);
  if (missed->count) fprintf(out, " %18.6f s %6.1f %%", e2e_s(missed), 100.0);
  fputc('\n', out);
}

static void put_parts(struct hr__json *json, cJSON *root, const char *key, const struct part_sums *sums) {
  cJSON *object = hr__json_object(json, root, key);
  hr__json_count(json, object, "requests", sums->count);
  for (size_t i = 0; i < N_PARTS; i++)
    hr__json_number_if(json, object, parts_of[i].key, sums->count > 0, mean_s(sums, i));
  hr__json_number_if(json, object, "e2e_s", sums->count > 0, e2e_s(sums));
  cJSON *exact = hr__json_object(json, object, "sums_us");
  for (size_t i = 0; i < N_PARTS; i++) {
    char name[20];
    snprintf(name, sizeof name, "%.*s", (int)(strlen(parts_of[i].key) - 2), parts_of[i].key);
    hr__json_count(json, exact, name, (uint64_t)sums->us[i]);
  }
  hr__json_count(json, exact, "e2e", (uint64_t)e2e_us(sums));
}

static enum hr_status write_json(const char *path, const struct hr_served *served, uint32_t request,
                                 const struct part_sums *all, const struct part_sums *missed, struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "service", served->service->name);
  if (request != HR_NONE) hr__json_count(&json, root, "request", request);
  put_parts(&json, root, "completed", all);
  if (request == HR_NONE) put_parts(&json, root, "missed", missed);
  return hr__json_write(&json, root, path, error);
}

static void put_title(FILE *out, const struct hr_served *served, uint32_t request, uint64_t completed,
                      uint64_t missed) {
  const struct hr_service_result *result = served->result;
  fputs("service ", out);
  hr_print_safe(out, served->service->name, 60);
  if (request == HR_NONE) {
    fprintf(out, ": %" PRIu64 " completed request%s", completed, completed == 1 ? "" : "s");
    if (has_goals(&served->service->slo)) fprintf(out, ", and %" PRIu64 " that missed the goals", missed);
    fputc('\n', out);
    return;
  }
  fprintf(out,
          ", request %" PRIu32 ": %" PRIu32 " prompt tokens, %" PRIu32 " output tokens, replica %" PRIu32
          ", %u restarts\n",
          request, served->requests->prompt_tokens[request], served->requests->output_tokens[request],
          result->replica[request], (unsigned)result->restarts[request]);
}

static enum hr_status check_request(const struct hr_served *served, uint32_t request, struct hr_error *error) {
  const struct hr_service_requests *requests = served->requests;
  if (request == HR_NONE) return HR_OK;
  if (requests->count == 0)
    return hr_fail(error, HR_BAD_INPUT, "--request %" PRIu32 ": service '%.80s' has no requests", request,
                   served->service->name);
  if (request >= requests->count)
    return hr_fail(error, HR_BAD_INPUT, "--request %" PRIu32 ": service '%.80s' has the requests 0 to %" PRIu32,
                   request, served->service->name, requests->count - 1);
  const enum hr_request_state state = (enum hr_request_state)served->result->state[request];
  if (state == HR_REQUEST_COMPLETED) return HR_OK;
  const char *why =
      hr_service_refusal(served->service, requests->prompt_tokens[request], requests->output_tokens[request]);
  return hr_fail(error, HR_BAD_INPUT, "--request %" PRIu32 ": the request was not completed: %s%s%s", request,
                 hr_request_state_name(state), why ? ", " : "", why ? why : "");
}

enum hr_status hr_service_why(FILE *out, const char *json, const struct hr_served *served, uint32_t request,
                              struct hr_error *error) {
  struct part_sums all = {0}, missed = {0};
  enum hr_status status = check_request(served, request, error);
  if (status != HR_OK) return status;
  for (uint32_t id = 0; id < served->requests->count; id++) {
    if (served->result->state[id] != HR_REQUEST_COMPLETED || (request != HR_NONE && id != request)) continue;
    const struct hr_request_parts parts = hr_request_parts_of(served, id);
    add(&all, &parts);
    if (request == HR_NONE && misses_goals(served, id, &parts)) add(&missed, &parts);
  }
  if (json) status = write_json(json, served, request, &all, &missed, error);
  if (status != HR_OK || !out) return status;
  put_title(out, served, request, all.count, missed.count);
  if (!all.count) {
    fputs("  no request was completed\n", out);
    return HR_OK;
  }
  put_table(out, &all, &missed, request != HR_NONE);
  return HR_OK;
}

/* ---- Waits of replicas --------------------------------------------------------------------------------- */

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
