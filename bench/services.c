/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the requests that are served per second of CPU time. A request trace is repeated and distributed over a
 * number of replicas.
 *
 *     services TRACE REPETITIONS REPLICAS ROUTER ENGINE
 *
 * With N replicas, requests arrive N times as fast as in the trace, so each replica has the load of the trace.
 */

#include "headroom/unstable/services.h"
#include "headroom/unstable/trace_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int find(const char *name, const char *(*name_of)(int), int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(name_of(i), name) == 0) return i;
  fprintf(stderr, "unknown name '%s'\n", name);
  exit(2);
}

static const char *engine_name(int engine) {
  return hr_service_engine_name((enum hr_service_engine)engine);
}

static const char *router_name(int router) {
  return hr_service_router_name((enum hr_service_router)router);
}

/* Appends the trace to itself; the time between two requests is divided by the number of replicas. */
static struct hr_service_requests repeated(const struct hr_service_requests *once, uint32_t times, uint32_t replicas) {
  const size_t count = (size_t)once->count * times;
  struct hr_service_requests all = {(uint32_t)count, malloc(count * sizeof *all.arrival_us),
                                    malloc(count * sizeof *all.prompt_tokens),
                                    malloc(count * sizeof *all.output_tokens)};
  if (!all.arrival_us || !all.prompt_tokens || !all.output_tokens) exit(1);
  const int64_t first_us = once->arrival_us[0], span_us = once->arrival_us[once->count - 1] - first_us + 1;
  for (size_t i = 0; i < count; i++) {
    const size_t k = i % once->count;
    all.arrival_us[i] = ((int64_t)(i / once->count) * span_us + once->arrival_us[k] - first_us) / replicas;
    all.prompt_tokens[i] = once->prompt_tokens[k];
    all.output_tokens[i] = once->output_tokens[k];
  }
  return all;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: services TRACE REPETITIONS REPLICAS ROUTER ENGINE\n");
    return 2;
  }
  static char name[] = "bench";
  const uint32_t times = (uint32_t)strtoul(argv[2], NULL, 10), replicas = (uint32_t)strtoul(argv[3], NULL, 10);
  const struct hr_service service = {.name = name,
                                     .replicas = replicas,
                                     .gpus = 1,
                                     .router = (enum hr_service_router)find(argv[4], router_name, HR_N_SERVICE_ROUTERS),
                                     .engine = (enum hr_service_engine)find(argv[5], engine_name, HR_N_SERVICE_ENGINES),
                                     .limits = {.max_sequences = 256,
                                                .max_batch_tokens = 16384,
                                                .chunk_tokens = 512,
                                                .block_tokens = 16,
                                                .kv_blocks = 32768,
                                                .watermark = 0.01},
                                     .cost = {.fixed_us = 5000,
                                              .per_prompt_token_us = 60,
                                              .per_sequence_us = 20,
                                              .per_context_ktoken_us = 150,
                                              .integer = true}};
  struct hr_service_requests once, all;
  struct hr_service_result result;
  struct hr_error error;
  if (times == 0 || replicas == 0) return 2;
  if (hr_requests_read(argv[1], &once, &error) != HR_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 2;
  }
  all = repeated(&once, times, replicas);
  const clock_t begin = clock();
  const enum hr_status status = hr_service_run(&service, &all, 1, false, &result, &error);
  const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  printf("%s, %u replica%s, %s: %u requests, %llu iterations, %.3f s, %.2f M requests/s\n", argv[5], (unsigned)replicas,
         replicas == 1 ? "" : "s", argv[4], (unsigned)all.count, (unsigned long long)result.iterations, seconds,
         (double)all.count / seconds / 1e6);
  hr_service_result_finish(&result);
  hr_requests_finish(&all);
  hr_requests_finish(&once);
  return status == HR_OK ? 0 : 1;
}
