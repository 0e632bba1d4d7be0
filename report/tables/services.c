/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of inference services as a table for a terminal, and request by request as CSV. The figures are computed in
 * report/metrics/services.c.
 */

#include "headroom/unstable/service_report.h"

#include "base/output_file.h"
#include "base/text.h"
#include "report/metrics/catalog.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table -------------------------------------------------------------------------------------- */

static void put_row(FILE *out, const char *name, const struct hr_distribution *row) {
  if (row->count == 0) {
    fprintf(out, "  %-10s %11s %9s %9s %9s %9s\n", name, "-", "-", "-", "-", "-");
    return;
  }
  fprintf(out, "  %-10s %9.3f s %9.3f %9.3f %9.3f %9.3f\n", name, row->mean / 1000, row->p50 / 1000, row->p90 / 1000,
          row->p95 / 1000, row->p99 / 1000);
}

static void put_usd(FILE *out, const char *before, const char *words, enum hr__metric metric,
                    const struct hr_service_summary *summary) {
  char text[HR__METRIC_BYTES];
  const double value = hr__metric_of_service(metric, summary).value;
  if (isnan(value)) return;
  if (value < 1)
    snprintf(text, sizeof text, "$%.6f", value);
  else
    hr__metric_text(HR_UNIT_DOLLARS, value, text);
  fprintf(out, "%s%s%s", before, text, words);
}

static void put_money(FILE *out, const struct hr_service_summary *summary) {
  if (summary->cost_uusd != HR_UNKNOWN_UUSD) {
    fputs("  cost       ", out);
    put_usd(out, "", "", HR__M_SERVING_COST, summary);
    put_usd(out, "; ", " per million tokens", HR__M_PER_MTOK, summary);
    put_usd(out, "; ", " per request within the goals", HR__M_PER_ATTAINED, summary);
    fputc('\n', out);
  }
  put_usd(out, "  revenue    ", "\n", HR__M_REVENUE, summary);
}

/* Prints the events of the replicas, if there were any. */
static void print_replicas(FILE *out, const struct hr_served *served) {
  const struct hr_service_result *result = served->result;
  uint32_t most = 0, n_later = result->n_decisions;
  for (uint32_t i = 0; i < result->n_decisions; i++)
    if (result->decisions[i].to > most) most = result->decisions[i].to;
  /* the initial number is no decision in this table; it is not recorded if it is 0 */
  if (n_later && result->decisions[0].reason == HR_SCALE_INITIAL) n_later--;
  if (result->cold_starts)
    fprintf(out, "  starts     %" PRIu64 " cold; %" PRIu64 " requests waited for a ready replica\n",
            result->cold_starts, result->met_cold_start);
  if (n_later)
    fprintf(out, "  scaling    %s: %" PRIu32 " decision%s, at most %" PRIu32 " replica%s\n",
            hr_autoscaler_name(served->service->autoscale.policy), n_later, n_later == 1 ? "" : "s", most,
            most == 1 ? "" : "s");
  if (result->interruptions)
    fprintf(out, "  stopped    %" PRIu64 " replicas interrupted; %" PRIu64 " tokens lost\n", result->interruptions,
            result->lost_tokens);
}

void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  fputs("service ", out);
  hr_print_safe(out, service->name, 60);
  if (service->autoscale.policy != HR_AUTOSCALE_FIXED)
    fprintf(out, ": %" PRIu32 " to", service->autoscale.min);
  else
    fputc(':', out);
  fprintf(out, " %" PRIu32 " replica%s of %" PRIu32 " GPU%s, engine %s, router %s\n", service->replicas,
          service->replicas == 1 ? "" : "s", service->gpus, service->gpus == 1 ? "" : "s",
          hr_service_engine_name(service->engine), hr_service_router_name(service->router));
  fprintf(out, "  requests   %" PRIu64 " offered, %" PRIu64 " completed, %" PRIu64 " refused", summary->offered,
          summary->completed, summary->refused);
  if (summary->timed_out) fprintf(out, ", %" PRIu64 " timed out", summary->timed_out);
  if (summary->spilled) fprintf(out, ", %" PRIu64 " spilled", summary->spilled);
  if (summary->unfinished) fprintf(out, ", %" PRIu64 " unfinished", summary->unfinished);
  fputc('\n', out);
  if (served->result->received)
    fprintf(out, "             %" PRIu64 " of them came from other services\n", served->result->received);
  if (summary->overflowed)
    fprintf(out, "             %" PRIu64 " went to '%s'\n", summary->overflowed, service->routing.spill.to);
  fprintf(out, "  %-10s %11s %9s %9s %9s %9s\n", "", "mean", "p50", "p90", "p95", "p99");
  put_row(out, "TTFT", &summary->ttft_ms);
  put_row(out, "TPOT", &summary->tpot_ms);
  put_row(out, "E2E", &summary->e2e_ms);
  const double attained = summary->due ? (double)summary->attained / (double)summary->due : 0;
  if (summary->has_goals && summary->due) {
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
  fprintf(out, "\n  GPU hours  %.2f held, %.2f busy", summary->gpu_hours, summary->busy_gpu_hours);
  if (summary->gpu_hours > 0) fprintf(out, " (%.1f %%)", 100 * summary->busy_gpu_hours / summary->gpu_hours);
  if (summary->starting_gpu_hours > 0) fprintf(out, ", %.2f starting", summary->starting_gpu_hours);
  fputc('\n', out);
  if (summary->memory_iterations)
    fprintf(out, "  KV memory  %.1f %% used on average, %.1f %% at most\n", 100 * summary->memory_mean,
            100 * summary->memory_peak);
  put_money(out, summary);
  print_replicas(out, served);
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Writes microseconds as seconds with six decimals. */
static void put_time(struct hr__csv_out *csv, int64_t us) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), us));
}

/* Writes a time in seconds with twelve decimals. The time is the sum of `us` microseconds and `ps` picoseconds; `ps`
   may be negative. */
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
  const bool is_served = result->replica[id] != HR_NONE || result->state[id] == HR_REQUEST_TIMED_OUT;
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
