/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of inference services, as a table, as JSON, and request by request as CSV. TTFT: arrival to first token.
 * TPOT: time from the first to the last token, divided by the tokens after the first. E2E: arrival to last token.
 */

#include "headroom/unstable/service_report.h"

#include "base/console.h"
#include "base/writers.h"
#include "report/metrics/statistics.h"
#include "report/tables/json_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures ---------------------------------------------------------------------------------------- */

static bool meets_goals(const struct hr_service_slo *slo, int64_t ttft_us, double tpot_us, int64_t e2e_us) {
  return (slo->ttft_ms <= 0 || (double)ttft_us <= slo->ttft_ms * 1000) &&
         (slo->tpot_ms <= 0 || tpot_us <= slo->tpot_ms * 1000) &&
         (slo->e2e_ms <= 0 || (double)e2e_us <= slo->e2e_ms * 1000);
}

/* Durations of completed requests. */
struct durations {
  int64_t *ttft_us, *tpot_us, *e2e_us; /* [count], tpot: [n_tpot] */
  size_t count, n_tpot;
  hr__wide ttft_sum, tpot_sum, e2e_sum;
};

static void add_request(const struct hr_served *served, uint32_t id, struct durations *all,
                        struct hr_service_summary *summary) {
  const struct hr_service_result *result = served->result;
  const int64_t arrival_us = served->requests->arrival_us[id];
  const int64_t ttft_us = result->first_token_us[id] - arrival_us, e2e_us = result->end_us[id] - arrival_us;
  const uint32_t later = served->requests->output_tokens[id] - 1;
  const double tpot_us = later ? (double)(e2e_us - ttft_us) / later : 0;
  all->ttft_us[all->count] = ttft_us;
  all->e2e_us[all->count++] = e2e_us;
  all->ttft_sum += (uint64_t)ttft_us;
  all->e2e_sum += (uint64_t)e2e_us;
  if (later) {
    all->tpot_us[all->n_tpot++] = (e2e_us - ttft_us) / later;
    all->tpot_sum += (uint64_t)((e2e_us - ttft_us) / later);
  }
  summary->completed++;
  summary->attained += meets_goals(&served->service->slo, ttft_us, tpot_us, e2e_us);
  summary->prompt_tokens += served->requests->prompt_tokens[id];
  summary->output_tokens += served->requests->output_tokens[id];
  summary->restarts += result->restarts[id];
}

/* The GPU hours and the goodput. */
static void add_gpus(const struct hr_served *served, int64_t end_us, struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  const double gpus = (double)service->gpus * (double)service->replicas;
  int64_t busy_us = 0;
  for (uint32_t i = 0; i < service->replicas; i++) busy_us += served->result->busy_us[i];
  summary->span_s = (double)(end_us - served->requests->arrival_us[0]) / (double)HR_SECOND_US;
  summary->gpu_hours = summary->span_s * gpus / 3600;
  summary->busy_gpu_hours = (double)busy_us * (double)service->gpus / (double)HR_SECOND_US / 3600;
  summary->goodput_per_gpu = summary->span_s > 0 ? (double)summary->attained / summary->span_s / gpus : 0;
}

enum hr_status hr_service_summarize(const struct hr_served *served, struct hr_service_summary *summary,
                                    struct hr_error *error) {
  const struct hr_service_slo *slo = &served->service->slo;
  const size_t room = (size_t)served->requests->count + 1;
  struct durations all = {.ttft_us = calloc(room, sizeof *all.ttft_us),
                          .tpot_us = calloc(room, sizeof *all.tpot_us),
                          .e2e_us = calloc(room, sizeof *all.e2e_us)};
  *summary = (struct hr_service_summary){.offered = served->requests->count,
                                         .has_goals = slo->ttft_ms > 0 || slo->tpot_ms > 0 || slo->e2e_ms > 0,
                                         .recomputed_tokens = served->result->recomputed_tokens,
                                         .iterations = served->result->iterations};
  const bool has_memory = all.ttft_us && all.tpot_us && all.e2e_us;
  int64_t end_us = served->requests->arrival_us[0];
  for (uint32_t id = 0; has_memory && id < served->requests->count; id++) {
    const enum hr_request_state state = (enum hr_request_state)served->result->state[id];
    summary->refused += state == HR_REQUEST_REFUSED;
    summary->unfinished += state == HR_REQUEST_UNFINISHED;
    if (state != HR_REQUEST_COMPLETED) continue;
    if (served->result->end_us[id] > end_us) end_us = served->result->end_us[id];
    add_request(served, id, &all, summary);
  }
  if (has_memory) {
    summary->ttft_s = hr__distribution_of_us(all.ttft_us, all.count, all.ttft_sum);
    summary->tpot_s = hr__distribution_of_us(all.tpot_us, all.n_tpot, all.tpot_sum);
    summary->e2e_s = hr__distribution_of_us(all.e2e_us, all.count, all.e2e_sum);
    add_gpus(served, end_us, summary);
  }
  free(all.ttft_us);
  free(all.tpot_us);
  free(all.e2e_us);
  return has_memory ? HR_OK : hr_fail(error, HR_NO_MEMORY, "service '%.100s': out of memory", served->service->name);
}

/* ---- The table -------------------------------------------------------------------------------------- */

static void put_row(FILE *out, const char *name, const struct hr_distribution *row) {
  fprintf(out, "  %-10s %9.3f s %9.3f %9.3f %9.3f %9.3f\n", name, row->mean, row->p50, row->p90, row->p95, row->p99);
}

void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  fputs("service ", out);
  hr_print_safe(out, service->name, 60);
  fprintf(out, ": %" PRIu32 " replica%s of %" PRIu32 " GPU%s, engine %s, router %s\n", service->replicas,
          service->replicas == 1 ? "" : "s", service->gpus, service->gpus == 1 ? "" : "s",
          hr_service_engine_name(service->engine), hr_service_router_name(service->router));
  fprintf(out, "  requests   %" PRIu64 " offered, %" PRIu64 " completed, %" PRIu64 " refused", summary->offered,
          summary->completed, summary->refused);
  if (summary->unfinished) fprintf(out, ", %" PRIu64 " unfinished", summary->unfinished);
  fputc('\n', out);
  fprintf(out, "  %-10s %11s %9s %9s %9s %9s\n", "", "mean", "p50", "p90", "p95", "p99");
  put_row(out, "TTFT", &summary->ttft_s);
  put_row(out, "TPOT", &summary->tpot_s);
  put_row(out, "E2E", &summary->e2e_s);
  const double offered = (double)summary->offered, attained = (double)summary->attained / offered;
  if (summary->has_goals) {
    fprintf(out, "  goals      %.2f %% of all requests within the goals", 100 * attained);
    if (service->slo.attainment > 0)
      fprintf(out, "; %.2f %% are required: %s", 100 * service->slo.attainment,
              attained >= service->slo.attainment ? "met" : "MISSED");
    fprintf(out, "\n  goodput    %.3f requests/s within the goals per GPU\n", summary->goodput_per_gpu);
  }
  fprintf(out, "  tokens     %" PRIu64 " prompt, %" PRIu64 " output", summary->prompt_tokens, summary->output_tokens);
  if (summary->restarts)
    fprintf(out, "; %" PRIu64 " recomputed in %" PRIu64 " restart%s", summary->recomputed_tokens, summary->restarts,
            summary->restarts == 1 ? "" : "s");
  fprintf(out, "\n  GPU hours  %.2f held, %.2f busy (%.1f %%)\n", summary->gpu_hours, summary->busy_gpu_hours,
          summary->gpu_hours > 0 ? 100 * summary->busy_gpu_hours / summary->gpu_hours : 0);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* Adds a distribution in milliseconds; if it is empty, all values are null. */
static void put_distribution(struct hr__json *json, cJSON *object, const char *key, const struct hr_distribution *row) {
  const struct {
    const char *key;
    double seconds;
  } parts[] = {{"mean", row->mean}, {"p50", row->p50}, {"p90", row->p90},
               {"p95", row->p95},   {"p99", row->p99}, {"max", row->max}};
  cJSON *inner = hr__json_object(json, object, key);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    hr__json_number_if(json, inner, parts[i].key, row->count > 0, 1000 * parts[i].seconds);
}

static void put_service(struct hr__json *json, cJSON *object, const struct hr_served *served,
                        const struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  hr__json_text(json, object, "name", service->name);
  hr__json_text(json, object, "engine", hr_service_engine_name(service->engine));
  hr__json_text(json, object, "router", hr_service_router_name(service->router));
  hr__json_count(json, object, "replicas", service->replicas);
  cJSON *requests = hr__json_object(json, object, "requests");
  hr__json_count(json, requests, "offered", summary->offered);
  hr__json_count(json, requests, "completed", summary->completed);
  hr__json_count(json, requests, "refused", summary->refused);
  hr__json_count(json, requests, "unfinished", summary->unfinished);
  put_distribution(json, object, "ttft_ms", &summary->ttft_s);
  put_distribution(json, object, "tpot_ms", &summary->tpot_s);
  put_distribution(json, object, "e2e_ms", &summary->e2e_s);
  hr__json_number_if(json, object, "attainment", summary->has_goals,
                     (double)summary->attained / (double)summary->offered);
  hr__json_number_if(json, object, "goodput_per_gpu", summary->has_goals, summary->goodput_per_gpu);
  cJSON *tokens = hr__json_object(json, object, "tokens");
  hr__json_count(json, tokens, "prompt", summary->prompt_tokens);
  hr__json_count(json, tokens, "output", summary->output_tokens);
  hr__json_count(json, tokens, "recomputed", summary->recomputed_tokens);
  hr__json_count(json, object, "restarts", summary->restarts);
  hr__json_count(json, object, "iterations", summary->iterations);
  cJSON *hours = hr__json_object(json, object, "gpu_hours");
  hr__json_number(json, hours, "held", summary->gpu_hours);
  hr__json_number(json, hours, "busy", summary->busy_gpu_hours);
}

enum hr_status hr_services_write_json(const char *path, const struct hr_served *served,
                                      const struct hr_service_summary *summaries, uint32_t count,
                                      struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject(), *list = hr__json_array(&json, root, "services");
  for (uint32_t i = 0; i < count; i++)
    put_service(&json, hr__json_append(&json, list, cJSON_CreateObject()), &served[i], &summaries[i]);
  return hr__json_write(&json, root, path, error);
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Writes microseconds as seconds with six decimals. */
static void put_time(struct hr__csv_out *csv, int64_t us) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), us));
}

/* Writes a time with twelve decimals: microseconds, and picoseconds that are added to them. */
static void put_exact_time(struct hr__csv_out *csv, int64_t us, int32_t ps) {
  char text[64];
  if (ps < 0) us--, ps += 1000000;
  snprintf(text, sizeof text, "%" PRId64 ".%06d%06d", us / HR_SECOND_US, (int)(us % HR_SECOND_US), (int)ps);
  hr__csv_text(csv, text);
}

static void put_replica(struct hr__csv_out *csv, uint32_t replica) {
  if (replica == HR_NONE)
    hr__csv_empty(csv);
  else
    hr__csv_u64(csv, replica);
}

static void put_request(struct hr__csv_out *csv, const struct hr_served *served, uint32_t id, bool with_phases) {
  const struct hr_service_result *result = served->result;
  const bool is_served = result->replica[id] != HR_NONE;
  const int64_t times_us[] = {result->scheduled_us[id], result->first_token_us[id], result->end_us[id]};
  hr__csv_text(csv, served->service->name);
  hr__csv_u64(csv, id);
  put_time(csv, served->requests->arrival_us[id]);
  hr__csv_u64(csv, served->requests->prompt_tokens[id]);
  hr__csv_u64(csv, served->requests->output_tokens[id]);
  put_replica(csv, result->replica[id]);
  for (size_t i = 0; i < sizeof times_us / sizeof *times_us; i++) {
    if (!is_served || times_us[i] == HR_NEVER_US)
      hr__csv_empty(csv);
    else if (result->rest_ps)
      put_exact_time(csv, times_us[i], result->rest_ps[id][i]);
    else
      put_time(csv, times_us[i]);
  }
  hr__csv_text(csv, hr_request_state_name((enum hr_request_state)result->state[id]));
  hr__csv_u64(csv, result->restarts[id]);
  if (with_phases) {
    put_replica(csv, result->decode_replica ? result->replica[id] : HR_NONE);
    put_replica(csv, result->decode_replica ? result->decode_replica[id] : HR_NONE);
  }
  hr__csv_end_row(csv);
}

/* Returns the service with the earliest next request; `count` if there is none. */
static uint32_t earliest(const struct hr_served *served, const uint32_t *next, uint32_t count) {
  uint32_t best = count;
  for (uint32_t i = 0; i < count; i++) {
    if (next[i] == served[i].requests->count) continue;
    const int64_t at_us = served[i].requests->arrival_us[next[i]];
    if (best == count || at_us < served[best].requests->arrival_us[next[best]]) best = i;
  }
  return best;
}

enum hr_status hr_services_write_requests(const char *path, const struct hr_served *served, uint32_t count,
                                          struct hr_error *error) {
  static const char header[] =
      "service,request,arrival_s,prompt_tokens,output_tokens,replica,scheduled_s,first_token_s,"
      "end_s,state,restarts",
                    phase_header[] = ",prefill_replica,decode_replica";
  char columns[sizeof header + sizeof phase_header];
  bool with_phases = false;
  for (uint32_t i = 0; i < count; i++) with_phases |= served[i].result->decode_replica != NULL;
  snprintf(columns, sizeof columns, "%s%s", header, with_phases ? phase_header : "");
  struct hr__csv_out csv;
  uint32_t *next = calloc((size_t)count + 1, sizeof *next);
  if (!next) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  enum hr_status status = hr__csv_open(&csv, path, columns, error);
  if (status == HR_OK) {
    for (uint32_t i = earliest(served, next, count); i < count; i = earliest(served, next, count))
      put_request(&csv, &served[i], next[i]++, with_phases);
    status = hr__csv_commit(&csv, error);
  }
  free(next);
  return status;
}
