/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output of `headroom why`: the recorded waits, summed by reason, tenant and request size, as tables of 80 columns and
 * as JSON (docs/reference/schemas/why.schema.json), and the latency of a service. The description of a single job as
 * text is in why_job.c.
 *
 * Waits are sorted by job. The waits of a job are summed first, and the sum is added to the rows of its tenant and of
 * its size.
 */

#include "report/why/why.h"

#include "headroom/unstable/exports.h"
#include "report/metrics/metrics.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Services -------------------------------------------------------------------------------------- */

/*
 * Explains the latency of a service and the waits of replicas.
 *
 * The time of the requests of a service, or of one request, is divided among queue, cold start, prompt, transfer, batch
 * and preemption. The parts are computed from the times in the result, in whole microseconds, so they add up exactly.
 *
 * The waits of replicas are reported separately from the waits of jobs. They are recorded only if the observer of waits
 * was created with the trace of the run, which has a row for each replica after the jobs of the input. For the sums,
 * struct hr_why must contain the trace of the input, which has no such rows. A job with an id of trace->n_jobs or more
 * is therefore a replica.
 */

enum { N_PARTS = 6 };
static const struct {
  const char *key, *name, *words;
  bool is_always; /* the table contains the part even if it is 0 */
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

/* ---- Services: output ------------------------------------------------------------------------------ */

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
    fprintf(out, ": %" PRIu64 " completed request%s", completed, hr__plural(completed));
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

/* ---- Services: waits of replicas ------------------------------------------------------------------- */

/* The sums over all replicas. */
struct replica_waits {
  uint32_t n_replicas, n_waited;
  uint32_t n_of[HR_N_WAIT_REASONS]; /* number of replicas that waited for each reason */
  hr_amount us[HR_N_WAIT_REASONS], all_us;
};

static struct replica_waits add_up_replicas(const struct hr_why *why) {
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
static void put_replica_reasons(FILE *out, const struct replica_waits *sums) {
  bool done[HR_N_WAIT_REASONS] = {false};
  const char *comma = "";
  for (uint32_t reason; (reason = next_reason(sums, done)) < HR_N_WAIT_REASONS; comma = ", ") {
    char number[HR__NUMBER_BYTES];
    const double share = 100 * (double)sums->us[reason] / (double)sums->all_us;
    fprintf(out, "%s%s %s %%", comma, hr_wait_reason_name((enum hr_wait_reason_kind)reason),
            share < 0.5 ? "<1" : hr__fixed_text(share, 0, number));
  }
}

/* Prints the sums of the waits of replicas of services; nothing if the run has none. */
static void why_put_replicas(struct hr__console *console, const struct hr_why *why) {
  const struct replica_waits sums = add_up_replicas(why);
  char text[3][HR__NUMBER_BYTES];
  struct hr__sentence sentence;
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
  if (!hr__sentence_begin(console, &sentence)) return;
  fprintf(sentence.out,
          "%s of %s replica%s of services waited for GPUs, %s in total: ", hr__count_text(sums.n_waited, text[1]),
          text[0], hr__plural(sums.n_replicas), hr__duration_text((double)sums.all_us / (double)HR_SECOND_US, text[2]));
  put_replica_reasons(sentence.out, &sums);
  hr__sentence_end(console, &sentence, "replicas");
}

static void why_json_replicas(struct hr__json *json, cJSON *root, const struct hr_why *why) {
  const struct replica_waits sums = add_up_replicas(why);
  bool done[HR_N_WAIT_REASONS] = {false};
  if (sums.n_replicas == 0) return;
  cJSON *object = hr__json_object(json, root, "replicas");
  hr__json_count(json, object, "count", sums.n_replicas);
  hr__json_count(json, object, "waited", sums.n_waited);
  hr__json_number(json, object, "wait_s", (double)sums.all_us / (double)HR_SECOND_US);
  cJSON *array = hr__json_array(json, object, "reasons");
  for (uint32_t reason; (reason = next_reason(&sums, done)) < HR_N_WAIT_REASONS;) {
    cJSON *item = hr__json_item(json, array);
    hr__json_text(json, item, "reason", hr_wait_reason_name((enum hr_wait_reason_kind)reason));
    hr__json_count(json, item, "replicas", sums.n_of[reason]);
    hr__json_number(json, item, "wait_s", (double)sums.us[reason] / (double)HR_SECOND_US);
  }
}

/* ---- Waits: sums ----------------------------------------------------------------------------------- */

/* The waiting time of a set of jobs by reason, and the waiting time multiplied by the milli-GPUs that each job
   requests. */
struct why_row {
  const char *name;
  uint64_t jobs;
  hr_amount us[HR_N_WAIT_REASONS], milli_us[HR_N_WAIT_REASONS];
  hr_amount all_us, all_milli_us;
};

/* A job that waited, and the sum of its waits. */
struct why_job {
  hr_job job;
  int64_t us;
};

struct why_sums {
  struct why_row all;
  uint64_t jobs_of[HR_N_WAIT_REASONS]; /* number of jobs that waited for each reason */
  hr_amount later_us;                  /* sum of the waits after the first start */
  uint64_t open;                       /* number of jobs that were still waiting when the run ended */
  uint64_t rejected;                   /* number of rejected jobs, which did not wait */
  struct why_row *tenants, *sizes;     /* rows with waits; tenants are sorted by descending time */
  size_t n_tenants, n_sizes;
  struct why_job *jobs; /* sorted by descending time */
  size_t n_jobs;
};

static void add_wait(const struct hr_why *why, const struct hr_wait *wait, struct why_row *row) {
  const struct hr_wait_part *parts = hr_waits_parts(why->waits, wait);
  uint64_t asked_milli = hr__why_request_milli(why, wait->job);
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    hr_amount milli_us = (hr_amount)parts[i].us * asked_milli;
    row->us[parts[i].reason] += parts[i].us;
    row->milli_us[parts[i].reason] += milli_us;
    row->all_us += parts[i].us;
    row->all_milli_us += milli_us;
  }
}

/* Computes the row of one job. Waits for different quotas are summed under one reason. */
static void job_row(const struct hr_why *why, hr_job job, struct why_row *row) {
  const struct hr_wait *waits;
  size_t count = hr_waits_of(why->waits, job, &waits);
  *row = (struct why_row){.jobs = 1};
  for (size_t i = 0; i < count; i++) add_wait(why, &waits[i], row);
}

static void add_row(struct why_row *to, const struct why_row *row) {
  to->jobs += row->jobs;
  to->all_us += row->all_us;
  to->all_milli_us += row->all_milli_us;
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) {
    to->us[i] += row->us[i];
    to->milli_us[i] += row->milli_us[i];
  }
}

/* Sorts the reasons of a row by descending time. Returns the number of reasons with a time > 0. */
static uint32_t order_reasons(const struct why_row *row, enum hr_wait_reason_kind order[HR_N_WAIT_REASONS]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) {
    uint32_t at = count;
    if (row->us[i] == 0) continue;
    for (; at > 0 && row->us[order[at - 1]] < row->us[i]; at--) order[at] = order[at - 1];
    order[at] = (enum hr_wait_reason_kind)i;
    count++;
  }
  return count;
}

/* ---- Waits: summation ------------------------------------------------------------------------------ */

/* Returns the row of the tenant of a job. Jobs without a tenant have the last row. */
static uint32_t tenant_of(const struct hr_why *why, hr_job job) {
  uint32_t tenant = why->trace->tenant ? why->trace->tenant[job.id] : HR_NONE;
  return tenant == HR_NONE ? why->trace->tenants.count : tenant;
}

static bool is_selected(const struct hr_why *why, const struct hr_why_question *question, hr_job job) {
  if (question->job.id != HR_NONE) return job.id == question->job.id;
  uint32_t tenant = question->tenant == HR_NONE ? why->trace->tenants.count : question->tenant;
  return !question->of_tenant || tenant_of(why, job) == tenant;
}

static void add_job(const struct hr_why *why, struct why_sums *sums, const struct hr_wait *waits, size_t count) {
  struct why_row row = {.jobs = 1};
  hr_job job = waits[0].job;
  for (size_t i = 0; i < count; i++) {
    add_wait(why, &waits[i], &row);
    if (!waits[i].is_first) sums->later_us += waits[i].end_us - waits[i].begin_us;
    sums->open += waits[i].is_open;
  }
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) sums->jobs_of[i] += row.us[i] > 0;
  add_row(&sums->all, &row);
  add_row(&sums->tenants[tenant_of(why, job)], &row);
  add_row(&sums->sizes[hr__size_of(why->trace->gpus[job.id])], &row);
  sums->jobs[sums->n_jobs++] = (struct why_job){job, (int64_t)row.all_us};
}

/* ---- Waits: order ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
  const struct why_job *one = a, *other = b;
  if (one->us != other->us) return one->us > other->us ? -1 : 1;
  return one->job.id < other->job.id ? -1 : 1;
}

static int rows_by_time(const void *a, const void *b) {
  const struct why_row *one = a, *other = b;
  if (one->all_us != other->all_us) return one->all_us > other->all_us ? -1 : 1;
  return strcmp(one->name, other->name);
}

/* Removes rows without waits; returns the number of remaining rows. */
static size_t drop_empty_rows(struct why_row *rows, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (rows[i].all_us > 0) rows[kept++] = rows[i];
  return kept;
}

static void sort_rows(const struct hr_why *why, struct why_sums *sums) {
  for (uint32_t i = 0; i <= why->trace->tenants.count; i++)
    sums->tenants[i].name = i < why->trace->tenants.count ? why->trace->tenants.text[i] : "";
  for (uint32_t i = 0; i < HR__SIZES; i++) sums->sizes[i].name = hr__size_name(i);
  sums->n_tenants = drop_empty_rows(sums->tenants, (size_t)why->trace->tenants.count + 1);
  sums->n_sizes = drop_empty_rows(sums->sizes, HR__SIZES);
  if (sums->n_tenants > 1) qsort(sums->tenants, sums->n_tenants, sizeof *sums->tenants, rows_by_time);
  if (sums->n_jobs > 1) qsort(sums->jobs, sums->n_jobs, sizeof *sums->jobs, by_time);
}

static void sums_finish(struct why_sums *sums) {
  free(sums->tenants);
  free(sums->sizes);
  free(sums->jobs);
}

/* Sums the waits of the jobs that the question selects. Returns HR_NO_MEMORY if out of memory; call sums_finish() even
   on failure. */
static enum hr_status add_up_jobs(const struct hr_why *why, const struct hr_why_question *question,
                                  struct why_sums *sums) {
  const struct hr_wait *waits;
  size_t count = hr_waits_all(why->waits, &waits), of_job = 0;
  *sums = (struct why_sums){.all.name = ""};
  sums->tenants = calloc((size_t)why->trace->tenants.count + 1, sizeof *sums->tenants);
  sums->sizes = calloc(HR__SIZES, sizeof *sums->sizes);
  sums->jobs = malloc((count + 1) * sizeof *sums->jobs);
  if (!sums->tenants || !sums->sizes || !sums->jobs) return HR_NO_MEMORY;
  for (size_t i = 0; i < count; i += of_job) {
    for (of_job = 1; i + of_job < count && waits[i + of_job].job.id == waits[i].job.id;) of_job++;
    if (waits[i].job.id >= why->trace->n_jobs) break; /* replicas of services */
    if (is_selected(why, question, waits[i].job)) add_job(why, sums, waits + i, of_job);
  }
  for (uint32_t i = 0; i < why->trace->n_jobs; i++)
    sums->rejected += why->result->state[i] == HR_JOB_REJECTED && is_selected(why, question, (hr_job){i});
  sort_rows(why, sums);
  return HR_OK;
}

/* ---- Waits: tables --------------------------------------------------------------------------------- */

enum { NAME_WIDTH = 15, MAX_TENANTS = 12 };

static double hours_of(hr_amount us) {
  return (double)us / (3600.0 * (double)HR_SECOND_US);
}

static const char *gpu_hours_text(hr_amount milli_us, char *buffer) {
  double hours = hours_of(milli_us) / 1000;
  return hr__fixed_text(hours, hours < 1000 ? 1 : 0, buffer);
}

static const char *time_text(hr_amount us, char *buffer) {
  return hr__duration_text((double)us / (double)HR_SECOND_US, buffer);
}

static const char *percent_text(hr_amount part, hr_amount all, char *buffer) {
  hr__fixed_text(all > 0 ? 100 * (double)part / (double)all : 0, 1, buffer);
  return strcat(buffer, " %");
}

/* Writes the reasons with the longest times, such as "capacity 61 %, order 30 %". Writes at least one reason, and
   further reasons while they fit into `room` columns. */
static void put_main_reasons(FILE *out, const struct why_row *row, size_t room) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = order_reasons(row, order);
  for (uint32_t i = 0; i < count; i++) {
    double share = 100 * (double)row->us[order[i]] / (double)row->all_us;
    char number[HR__NUMBER_BYTES], text[2 * HR__NUMBER_BYTES];
    int width = snprintf(text, sizeof text, "%s%s %s %%", i ? ", " : "", hr_wait_reason_name(order[i]),
                         share < 0.5 ? "<1" : hr__fixed_text(share, 0, number));
    if (i > 0 && (size_t)width > room) return;
    fprintf(out, "%s", text);
    room -= (size_t)width;
  }
}

/* ---- Waits: by reason ------------------------------------------------------------------------------ */

static void put_reason_table(struct hr__console *console, const struct why_sums *sums) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = order_reasons(&sums->all, order);
  fprintf(console->out, "\n%s%-*s%10s%14s%10s%14s%10s%s\n", hr__bold(console), NAME_WIDTH + 1, "reason", "jobs",
          "waited", "share", "GPU hours", "share", hr__plain(console));
  for (uint32_t i = 0; i < count; i++) {
    char text[5][HR__NUMBER_BYTES];
    enum hr_wait_reason_kind reason = order[i];
    fprintf(console->out, "%-*s%10s%14s%10s%14s%10s\n", NAME_WIDTH + 1, hr_wait_reason_name(reason),
            hr__count_text(sums->jobs_of[reason], text[0]), time_text(sums->all.us[reason], text[1]),
            percent_text(sums->all.us[reason], sums->all.all_us, text[2]),
            gpu_hours_text(sums->all.milli_us[reason], text[3]),
            percent_text(sums->all.milli_us[reason], sums->all.all_milli_us, text[4]));
  }
  for (uint32_t i = 0; i < count; i++)
    fprintf(console->out, "%s%s: %s%s\n", hr__dim(console), hr_wait_reason_name(order[i]),
            hr_wait_reason_words(order[i]), hr__plain(console));
}

/* ---- Waits: by tenant and size --------------------------------------------------------------------- */

static void put_row(struct hr__console *console, const struct why_row *row) {
  char text[3][HR__NUMBER_BYTES];
  hr__put_cell(console, row->name[0] ? row->name : "(none)", NAME_WIDTH, false);
  fprintf(console->out, "%8s%13s%11s  ", hr__count_text(row->jobs, text[0]), time_text(row->all_us, text[1]),
          gpu_hours_text(row->all_milli_us, text[2]));
  put_main_reasons(console->out, row, HR__LINE_WIDTH - NAME_WIDTH - 1 - 34);
  fputc('\n', console->out);
}

static void put_rows(struct hr__console *console, const char *title, const struct why_row *rows, size_t count,
                     size_t max_rows) {
  fprintf(console->out, "\n%s%-*s%8s%13s%11s  %s%s\n", hr__bold(console), NAME_WIDTH + 1, title, "jobs", "waited",
          "GPU hours", "main reasons", hr__plain(console));
  for (size_t i = 0; i < count && i < max_rows; i++) put_row(console, &rows[i]);
  hr__put_more(console, count, max_rows);
}

static void put_rejected(struct hr__console *console, const struct why_sums *sums) {
  char text[HR__NUMBER_BYTES];
  if (sums->rejected > 0)
    hr__put_field(console, "rejected", "%s job%s rejected, as %s can never run", hr__count_text(sums->rejected, text),
                  sums->rejected == 1 ? " was" : "s were", sums->rejected == 1 ? "it" : "they");
}

static void put_head(struct hr__console *console, const struct why_sums *sums) {
  char text[3][HR__NUMBER_BYTES];
  hr__put_field(console, "waited", "%s job%s, %s in total: %s requested GPU hours",
                hr__count_text(sums->all.jobs, text[0]), hr__plural(sums->all.jobs),
                time_text(sums->all.all_us, text[1]), gpu_hours_text(sums->all.all_milli_us, text[2]));
  if (sums->later_us > 0)
    hr__put_field(console, "requeued", "%s of it after a first start (%s)", time_text(sums->later_us, text[0]),
                  percent_text(sums->later_us, sums->all.all_us, text[1]));
  if (sums->open > 0)
    hr__put_field(console, "unfinished", "%s job%s still waiting when the run ended",
                  hr__count_text(sums->open, text[0]), hr__plural(sums->open));
  put_rejected(console, sums);
}

static void print_no_waits(struct hr__console *console, const struct hr_why *why, const struct why_sums *sums) {
  if (why->trace->n_jobs == 0) {
    hr__put_field(console, "waited",
                  "the run has no jobs; --service NAME explains the times of requests of a service, "
                  "--job replica-N the wait of a replica");
    return;
  }
  hr__put_field(console, "waited", "no job: each job %sstarted when it was submitted",
                sums->rejected ? "that can run " : "");
  put_rejected(console, sums);
}

/* Prints the tables of sums by reason, tenant and size. */
static void print_sums(struct hr__console *console, const struct why_sums *sums, bool of_tenant) {
  put_head(console, sums);
  put_reason_table(console, sums);
  if (!of_tenant && (sums->n_tenants > 1 || sums->tenants[0].name[0]))
    put_rows(console, "tenant", sums->tenants, sums->n_tenants, MAX_TENANTS);
  put_rows(console, "GPUs requested", sums->sizes, sums->n_sizes, sums->n_sizes);
}

/* ---- Waits: longest waits -------------------------------------------------------------------------- */

static void put_slow_job(struct hr__console *console, const struct hr_why *why, const struct why_job *slow) {
  char text[2][HR__NUMBER_BYTES], id[HR_JOB_ID_BUFFER];
  struct why_row row;
  job_row(why, slow->job, &row);
  hr__put_cell(console, hr_trace_job_id(why->trace, slow->job, id), NAME_WIDTH, true);
  fprintf(console->out, "%6s%13s  ", hr__why_gpus(hr__why_request_milli(why, slow->job), text[0]),
          time_text(row.all_us, text[1]));
  put_main_reasons(console->out, &row, HR__LINE_WIDTH - NAME_WIDTH - 1 - 21);
  fputc('\n', console->out);
}

static void print_slowest(struct hr__console *console, const struct hr_why *why, const struct why_sums *sums,
                          uint32_t max_rows) {
  if (sums->n_jobs == 0 || max_rows == 0) return;
  fprintf(console->out, "\n%s%-*s%6s%13s  %s%s\n", hr__bold(console), NAME_WIDTH + 1, "longest waits", "GPUs", "waited",
          "main reasons", hr__plain(console));
  for (size_t i = 0; i < sums->n_jobs && i < max_rows; i++) put_slow_job(console, why, &sums->jobs[i]);
}

/* Prints the subject of the output, such as "where the waiting time of all jobs went". */
static void put_subject(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                        const struct why_sums *sums) {
  char number[HR__NUMBER_BYTES];
  size_t slowest = sums->n_jobs < question->slowest ? sums->n_jobs : question->slowest;
  if (question->only_slowest && slowest == 1) {
    fprintf(console->out, "the job that waited longest");
  } else if (question->only_slowest) {
    fprintf(console->out, "the %s%sjobs that waited longest", slowest ? hr__count_text(slowest, number) : "",
            slowest ? " " : "");
  } else if (question->of_tenant && question->tenant != HR_NONE) {
    char *tenant = hr__fitted(console, why->trace->tenants.text[question->tenant], HR__LINE_WIDTH - 40, false);
    if (tenant) fprintf(console->out, "where the waiting time of tenant %s went", tenant);
    free(tenant);
  } else {
    fprintf(console->out, "where the waiting time of %s went",
            question->of_tenant ? "jobs without a tenant" : "all jobs");
  }
}

static void put_question(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                         const struct why_sums *sums) {
  hr__put_title(console, ": ", why->scenario ? why->scenario : "", HR__LINE_WIDTH - 20, false);
  fputs("  ", console->out);
  put_subject(console, why, question, sums);
  fprintf(console->out, "\n%s", question->only_slowest && sums->all.all_us > 0 ? "" : "\n");
}

/* ---- Waits: answer --------------------------------------------------------------------------------- */

enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  struct why_sums sums;
  if (question->job.id != HR_NONE) {
    hr__why_print_job(&console, why, question->job);
    return console.out_of_memory ? HR_NO_MEMORY : ferror(out) ? HR_IO_ERROR : HR_OK;
  }
  enum hr_status status = add_up_jobs(why, question, &sums);
  if (status == HR_OK) {
    put_question(&console, why, question, &sums);
    if (sums.all.all_us == 0)
      print_no_waits(&console, why, &sums);
    else if (!question->only_slowest)
      print_sums(&console, &sums, question->of_tenant);
    if (!question->only_slowest && !question->of_tenant) why_put_replicas(&console, why);
    print_slowest(&console, why, &sums, question->slowest);
  }
  sums_finish(&sums);
  if (status != HR_OK || console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- Waits: JSON ----------------------------------------------------------------------------------- */

static double seconds(hr_amount us) {
  return (double)us / (double)HR_SECOND_US;
}

/* Returns a time of the run in seconds on the clock of the trace. */
static double clock_seconds(const struct hr_why *why, int64_t at_us) {
  return seconds(at_us + hr_trace_clock_us(why->trace));
}

static void put_hold(struct hr__json *json, cJSON *object, const struct hr_why *why, uint32_t reason, uint32_t quota,
                     hr_job job) {
  char *text = NULL;
  size_t size = 0;
  hr__json_text(json, object, "reason", hr_wait_reason_name((enum hr_wait_reason_kind)reason));
  bool is_window = reason == HR_WAIT_REASON_MAINTENANCE;
  if (quota == HR_NONE || is_window) hr__json_null(json, object, "quota");
  if (quota == HR_NONE) return;
  FILE *out = open_memstream(&text, &size);
  if (out && is_window)
    hr__why_put_window(out, why, quota);
  else if (out)
    hr__why_put_quota(out, why, quota, job);
  if (out && fclose(out) == 0)
    hr__json_text(json, object, is_window ? "maintenance" : "quota", text);
  else
    json->failed = true;
  free(text);
}

static void json_reasons(struct hr__json *json, cJSON *object, const struct why_row *row, const uint64_t *jobs_of) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = order_reasons(row, order);
  cJSON *array = hr__json_array(json, object, "reasons");
  for (uint32_t i = 0; i < count; i++) {
    cJSON *item = hr__json_item(json, array);
    hr__json_text(json, item, "reason", hr_wait_reason_name(order[i]));
    if (jobs_of) hr__json_count(json, item, "jobs", jobs_of[order[i]]);
    hr__json_number(json, item, "wait_s", seconds(row->us[order[i]]));
    hr__json_number(json, item, "gpu_hours", seconds(row->milli_us[order[i]]) / 3.6e6);
  }
}

static void json_row(struct hr__json *json, cJSON *object, const struct why_row *row, const uint64_t *jobs_of) {
  hr__json_count(json, object, "jobs", row->jobs);
  hr__json_number(json, object, "wait_s", seconds(row->all_us));
  hr__json_number(json, object, "gpu_hours", seconds(row->all_milli_us) / 3.6e6);
  json_reasons(json, object, row, jobs_of);
}

static void json_rows(struct hr__json *json, cJSON *root, const char *key, const char *name, const struct why_row *rows,
                      size_t count) {
  cJSON *array = hr__json_array(json, root, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *item = hr__json_item(json, array);
    hr__json_text(json, item, name, rows[i].name);
    json_row(json, item, &rows[i], NULL);
  }
}

static void put_slowest(struct hr__json *json, cJSON *root, const struct hr_why *why, const struct why_sums *sums,
                        uint32_t max_rows) {
  cJSON *array = hr__json_array(json, root, "slowest");
  for (size_t i = 0; i < sums->n_jobs && i < max_rows; i++) {
    char id[HR_JOB_ID_BUFFER];
    struct why_row row;
    cJSON *item = hr__json_item(json, array);
    job_row(why, sums->jobs[i].job, &row);
    hr__json_text(json, item, "job_id", hr_trace_job_id(why->trace, sums->jobs[i].job, id));
    hr__json_number(json, item, "gpus", (double)hr__why_request_milli(why, sums->jobs[i].job) / 1000);
    hr__json_number(json, item, "wait_s", seconds(row.all_us));
    json_reasons(json, item, &row, NULL);
  }
}

static void put_sums(struct hr__json *json, cJSON *root, const struct hr_why *why,
                     const struct hr_why_question *question, const struct why_sums *sums) {
  if (question->of_tenant)
    hr__json_text(json, root, "tenant", question->tenant == HR_NONE ? "" : why->trace->tenants.text[question->tenant]);
  cJSON *waited = hr__json_object(json, root, "waited");
  json_row(json, waited, &sums->all, sums->jobs_of);
  hr__json_number(json, waited, "again_s", seconds(sums->later_us));
  hr__json_count(json, waited, "unfinished", sums->open);
  hr__json_count(json, waited, "rejected", sums->rejected);
  if (!question->of_tenant) why_json_replicas(json, root, why);
  size_t n_tenants = sums->n_tenants;
  if (question->max_tenants && question->max_tenants < n_tenants) n_tenants = question->max_tenants;
  if (!question->of_tenant) json_rows(json, root, "by_tenant", "tenant", sums->tenants, n_tenants);
  json_rows(json, root, "by_size", "gpus", sums->sizes, sums->n_sizes);
  if (question->slowest) put_slowest(json, root, why, sums, question->slowest);
}

/* ---- Waits: a job ---------------------------------------------------------------------------------- */

static void put_wait(struct hr__json *json, cJSON *object, const struct hr_why *why, const struct hr_wait *wait) {
  const struct hr_wait_part *parts = hr_waits_parts(why->waits, wait);
  cJSON *array = hr__json_array(json, object, "parts");
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    cJSON *item = hr__json_item(json, array);
    put_hold(json, item, why, parts[i].reason, parts[i].quota, wait->job);
    hr__json_number(json, item, "wait_s", seconds(parts[i].us));
  }
}

/* Adds the segments of a wait in time order. */
static void put_segments(struct hr__json *json, cJSON *object, const struct hr_why *why, const struct hr_wait *wait) {
  const struct hr_wait_segment *segments;
  size_t count = hr_waits_segments(why->waits, wait->job, &segments);
  cJSON *array = hr__json_array(json, object, "segments");
  for (size_t i = 0; i < count; i++) {
    const struct hr_wait_segment *segment = &segments[i];
    char id[HR_JOB_ID_BUFFER];
    bool has_other = segment->hold.behind.id != HR_NONE;
    if (segment->begin_us < wait->begin_us || segment->begin_us >= wait->end_us) continue;
    cJSON *item = hr__json_item(json, array);
    hr__json_number(json, item, "begin_s", clock_seconds(why, segment->begin_us));
    hr__json_number(json, item, "end_s", clock_seconds(why, segment->end_us));
    put_hold(json, item, why, segment->hold.reason, segment->hold.quota, wait->job);
    hr__json_text(json, item, "behind", has_other ? hr_trace_job_id(why->trace, segment->hold.behind, id) : NULL);
    hr__json_number(json, item, "asked_gpus", (double)segment->hold.asked_milli / 1000);
    hr__json_number(json, item, "least_free_gpus", (double)segment->min_free_milli / 1000);
    hr__json_number(json, item, "most_free_gpus", (double)segment->max_free_milli / 1000);
    if (segment->description[0]) hr__json_text(json, item, "description", segment->description);
  }
}

static void put_waits(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_wait *waits;
  size_t count = hr_waits_of(why->waits, job, &waits);
  cJSON *array = hr__json_array(json, root, "waits");
  for (size_t i = 0; i < count; i++) {
    cJSON *item = hr__json_item(json, array);
    hr__json_number(json, item, "begin_s", clock_seconds(why, waits[i].begin_us));
    hr__json_number(json, item, "end_s", clock_seconds(why, waits[i].end_us));
    hr__json_number(json, item, "wait_s", seconds(waits[i].end_us - waits[i].begin_us));
    hr__json_bool(json, item, "first", waits[i].is_first);
    hr__json_bool(json, item, "unfinished", waits[i].is_open);
    put_wait(json, item, why, &waits[i]);
    put_segments(json, item, why, &waits[i]);
  }
}

static void put_attempt(struct hr__json *json, cJSON *item, const struct hr_why *why,
                        const struct hr_attempt *attempt) {
  static const char *const ends[] = {"running", "completed", "interrupted", "preempted"};
  bool stopped = attempt->end == HR_ATTEMPT_INTERRUPTED || attempt->end == HR_ATTEMPT_PREEMPTED;
  hr__json_number(json, item, "begin_s", clock_seconds(why, attempt->begin_us));
  hr__json_number(json, item, "end_s", clock_seconds(why, attempt->end_us));
  hr__json_text(json, item, "pool", why->cluster->pools[attempt->pool.id].name);
  hr__json_number(json, item, "gpus", (double)attempt->gpu_milli / 1000);
  hr__json_text(json, item, "start_reason", hr_reason_name((enum hr_reason)attempt->start_reason));
  hr__json_text(json, item, "end", ends[attempt->end]);
  hr__json_text(json, item, "end_reason", stopped ? hr_reason_name((enum hr_reason)attempt->end_reason) : NULL);
  hr__json_number(json, item, "kept_s", seconds(attempt->kept_us));
  hr__json_number(json, item, "lost_s", seconds(attempt->lost_us));
  hr__json_number(json, item, "saving_s", seconds(attempt->saving_us));
  hr__json_number(json, item, "restarting_s", seconds(attempt->restarting_us));
  hr__json_number(json, item, "data_s", seconds(attempt->data_us));
}

static void put_attempts(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_attempt *attempts;
  size_t count = hr_history_attempts(why->history, &attempts);
  cJSON *array = hr__json_array(json, root, "attempts");
  for (size_t i = 0; i < count; i++)
    if (attempts[i].job.id == job.id) put_attempt(json, hr__json_item(json, array), why, &attempts[i]);
}

static void put_job(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_trace *trace = why->trace;
  char id[HR_JOB_ID_BUFFER];
  bool rejected = why->result->state[job.id] == HR_JOB_REJECTED;
  uint32_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE;
  cJSON *object = hr__json_object(json, root, "job");
  hr__json_text(json, object, "job_id", hr_trace_job_id(trace, job, id));
  hr__json_text(json, object, "tenant", tenant == HR_NONE ? NULL : trace->tenants.text[tenant]);
  hr__json_number(json, object, "submit_s", clock_seconds(why, trace->submit_us[job.id]));
  hr__json_number(json, object, "gpus", (double)hr__why_request_milli(why, job) / 1000);
  hr__json_number(json, object, "run_time_s", seconds(trace->work_us[job.id]));
  hr__json_text(json, object, "state", hr_result_state_name(why->result, job));
  hr__json_text(json, object, "rejected",
                rejected ? hr_reason_name((enum hr_reason)why->result->reason[job.id]) : NULL);
  put_waits(json, object, why, job);
  put_attempts(json, object, why, job);
  bool has_cost = why->ledger && why->result->start_us[job.id] != HR_NEVER_US;
  int64_t uusd =
      has_cost ? (int64_t)hr__divided(hr_ledger_job(why->ledger, job), HR_LEDGER_UNITS_PER_UUSD) : HR_UNKNOWN_UUSD;
  hr__json_usd(json, object, "cost_usd", uusd);
}

/* ---- Waits: file ----------------------------------------------------------------------------------- */

static void put_run(struct hr__json *json, cJSON *root, const struct hr_why *why) {
  char digest[17];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)why->result->digest);
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", why->scenario);
  hr__json_text(json, root, "trace", why->trace->source);
  hr__json_text(json, root, "policy", why->policy->ops->name);
  hr__json_seed(json, root, "seed", why->seed);
  hr__json_text(json, root, "digest", digest);
}

/* Returns NULL if out of memory. */
static cJSON *make_tree(struct hr__json *json, const struct hr_why *why, const struct hr_why_question *question) {
  struct why_sums sums = {0};
  cJSON *root = cJSON_CreateObject();
  if (!root) return NULL;
  put_run(json, root, why);
  if (question->job.id != HR_NONE)
    put_job(json, root, why, question->job);
  else if (add_up_jobs(why, question, &sums) == HR_OK)
    put_sums(json, root, why, question, &sums);
  else
    json->failed = true;
  sums_finish(&sums);
  return root;
}

char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question) {
  struct hr__json json = {0};
  cJSON *root = make_tree(&json, why, question);
  return root ? hr__json_print(&json, root) : NULL;
}

enum hr_status hr_why_write_json(const char *path, const struct hr_why *why, const struct hr_why_question *question,
                                 struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = make_tree(&json, why, question);
  if (!root) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  return hr__json_write(&json, root, path, error);
}
