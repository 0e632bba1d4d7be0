/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs test vectors of rules for several clusters, elastic capacity and data: cluster autoscaler, Karpenter,
 * MultiKueue, bandwidth, data loading and caches. This file selects the function for the kind of a case, and contains
 * the functions that the files of this folder share. It also contains the cases of MultiKueue's dispatch, of max-min
 * sharing of bandwidth, of reading data, and of caches.
 */

#include "sim/clusters/clusters.h"
#include "scenarios/conform/conform.h"
#include "sim/clusters/node_autoscalers.h"

#include <math.h>
#include <stdlib.h>

/* ---- Comparing ------------------------------------------------------------------------------------------- */

const cJSON *hr__expected(struct hr__verdict *verdict, const char *name, bool *is_there) {
  uint32_t at = 0;
  const cJSON *member;
  if (is_there) *is_there = false;
  cJSON_ArrayForEach(member, verdict->expect) {
    if (strcmp(member->string, name) == 0) {
      if (at < 64) verdict->compared |= UINT64_C(1) << at;
      if (is_there) *is_there = true;
      return cJSON_IsNull(member) ? NULL : member;
    }
    at++;
  }
  return NULL;
}

void hr__check_json(struct hr__verdict *verdict, const char *name, cJSON *actual, unsigned flags, double tolerance) {
  bool is_there;
  const cJSON *expected = hr__expected(verdict, name, &is_there);
  if (!actual)
    verdict->no_memory = true;
  else if (is_there)
    hr__verdict_compare(verdict, name, expected, actual, flags, tolerance);
  cJSON_Delete(actual);
}

void hr__check_number(struct hr__verdict *verdict, const char *name, double actual, double tolerance) {
  const cJSON *expected = hr__expected(verdict, name, NULL);
  cJSON *value = !isinf(actual)             ? cJSON_CreateNumber(actual)
                 : cJSON_IsString(expected) ? cJSON_CreateString("inf")
                                            : cJSON_CreateNull();
  hr__check_json(verdict, name, value, HR__COMPARE_EXACTLY, tolerance);
}

/* ---- Reading --------------------------------------------------------------------------------------------- */

struct hr__node_amounts hr__read_amounts(const cJSON *object) {
  int64_t cpu_m = hr__case_whole(object, "cpu_m", -1), memory = hr__case_whole(object, "mem_bytes", -1);
  if (cpu_m < 0) cpu_m = hr__scaled(hr__case_whole(object, "cpu", 0), 1000);
  if (memory < 0) memory = hr__case_whole(object, "mem", -1);
  if (memory < 0) memory = hr__scaled(hr__case_whole(object, "mem_MiB", 0), 1048576);
  return (struct hr__node_amounts){
      {hr__scaled(cpu_m, 1), hr__scaled(memory, 1), hr__scaled(hr__case_whole(object, "gpus", 0), 1)}};
}

uint32_t hr__position_of(const cJSON *list, const char *name) {
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *text = cJSON_IsArray(list) ? cJSON_GetStringValue(item) : item->string;
    if (text && name && strcmp(text, name) == 0) return at;
    at++;
  }
  return UINT32_MAX;
}

/* ---- MultiKueue ------------------------------------------------------------------------------------------ */

/* Sets the order in which clusters are preferred: as configured, or by name. */
static void order_clusters(const cJSON *clusters, bool by_name, uint32_t *order) {
  uint32_t n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, clusters) {
    uint32_t at = n;
    for (; by_name && at > 0; at--) {
      const char *before = cJSON_GetStringValue(cJSON_GetArrayItem(clusters, (int)order[at - 1]));
      if (!before || !item->valuestring || strcmp(before, item->valuestring) <= 0) break;
      order[at] = order[at - 1];
    }
    order[at] = n++;
  }
}

static void run_incremental(struct hr__verdict *verdict) {
  const cJSON *clusters = hr__case_get(verdict->input, "clusters"), *item;
  const uint32_t n = hr__case_count(verdict->input, "clusters"), n_already = hr__case_count(verdict->input, "already");
  uint32_t *order = hr__verdict_alloc(verdict, n, sizeof *order);
  struct hr__multikueue_offer offer = {.nominated = hr__verdict_alloc(verdict, n + n_already, sizeof *offer.nominated)};
  if (!order || !offer.nominated) return;
  struct hr__multikueue_spec spec = hr__multikueue_defaults;
  spec.is_incremental = true;
  spec.step = (uint32_t)hr__case_whole(verdict->input, "step", HR__MULTIKUEUE_STEP);
  order_clusters(clusters, strcmp(hr__case_text(verdict->input, "order", "config"), "name") == 0, order);
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "already")) {
    offer.nominated[offer.n_nominated] = hr__position_of(clusters, cJSON_GetStringValue(item));
    if (offer.nominated[offer.n_nominated++] == UINT32_MAX) verdict->malformed = "unknown cluster in \"already\"";
  }
  if (verdict->malformed) return;
  const int64_t now_us = spec.round_us + hr__case_bool(verdict->input, "round_over", false);
  const bool is_any = hr__multikueue_nominate(&spec, &offer, order, n, now_us);
  cJSON *nominated = cJSON_CreateArray();
  for (uint32_t i = 0; i < offer.n_nominated; i++)
    cJSON_AddItemToArray(nominated, cJSON_Duplicate(cJSON_GetArrayItem(clusters, (int)offer.nominated[i]), true));
  hr__check_json(verdict, "nominated", nominated, HR__COMPARE_EXACTLY, 0);
  hr__check_bool(verdict, "no_more", !is_any);
}

/* ---- Max-min sharing ------------------------------------------------------------------------------------- */

static void run_share_one(struct hr__verdict *verdict) {
  const cJSON *demands = hr__case_get(verdict->input, "demands"), *weights = hr__case_get(verdict->input, "weights"),
              *item;
  const uint32_t n = hr__case_count(verdict->input, "demands");
  struct hr__flow *flows = hr__verdict_alloc(verdict, n, sizeof *flows);
  uint32_t *crossed = hr__verdict_alloc(verdict, 1, sizeof *crossed);
  double *rates = hr__verdict_alloc(verdict, n, sizeof *rates);
  if (!flows || !crossed || !rates) return;
  const double capacity = hr__case_real(verdict->input, "capacity", (double)INFINITY);
  uint32_t at = 0;
  cJSON_ArrayForEach(item, demands) {
    const cJSON *weight = cJSON_GetArrayItem(weights, (int)at);
    flows[at] = (struct hr__flow){.demand = cJSON_IsNumber(item) ? item->valuedouble : (double)INFINITY,
                                  .weight = cJSON_IsNumber(weight) ? weight->valuedouble : 1,
                                  .n = 1};
    if (!(flows[at++].weight > 0)) verdict->malformed = "a weight must be above 0";
  }
  if (verdict->malformed) return;
  if (hr__share_max_min(flows, n, crossed, &capacity, 1, rates) != HR_OK) {
    verdict->malformed = "out of memory";
    return;
  }
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < n; i++)
    cJSON_AddItemToArray(list, isinf(rates[i]) ? cJSON_CreateNull() : cJSON_CreateNumber(rates[i]));
  hr__check_json(verdict, "rates", list, HR__COMPARE_EXACTLY, 1e-9);
}

/* Returns a rate: a number, or a text with a number or a fraction such as "10/3". Any other value is INFINITY. */
static double rate_of(const cJSON *value) {
  if (!cJSON_IsString(value)) return cJSON_IsNumber(value) ? value->valuedouble : (double)INFINITY;
  char *end;
  const double number = strtod(value->valuestring, &end);
  return *end == '/' ? number / strtod(end + 1, NULL) : number;
}

/* Reads the ends of a flow: [sender, receiver]. Each end that has a limit is a resource. Senders are numbered first,
   then receivers. */
static void read_flow(struct hr__verdict *verdict, const cJSON *ends, struct hr__flow *flow, uint32_t *crossed) {
  const cJSON *senders = hr__case_get(verdict->input, "out"), *receivers = hr__case_get(verdict->input, "in");
  const uint32_t out = hr__position_of(senders, cJSON_GetStringValue(cJSON_GetArrayItem(ends, 0)));
  const uint32_t in = hr__position_of(receivers, cJSON_GetStringValue(cJSON_GetArrayItem(ends, 1)));
  flow->demand = (double)INFINITY;
  flow->weight = 1;
  if (out != UINT32_MAX) crossed[flow->first + flow->n++] = out;
  if (in != UINT32_MAX) crossed[flow->first + flow->n++] = hr__case_count(verdict->input, "out") + in;
}

static void run_share_net(struct hr__verdict *verdict) {
  const uint32_t n_out = hr__case_count(verdict->input, "out"), n_all = n_out + hr__case_count(verdict->input, "in");
  const uint32_t n = hr__case_count(verdict->input, "flows");
  struct hr__flow *flows = hr__verdict_alloc(verdict, n, sizeof *flows);
  uint32_t *crossed = hr__verdict_alloc(verdict, (size_t)2 * n, sizeof *crossed), at = 0;
  double *rates = hr__verdict_alloc(verdict, n, sizeof *rates);
  double *capacities = hr__verdict_alloc(verdict, n_all, sizeof *capacities);
  if (!flows || !crossed || !rates || !capacities) return;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "out")) capacities[at++] = rate_of(item);
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "in")) capacities[at++] = rate_of(item);
  at = 0;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "flows")) {
    flows[at].first = 2 * at;
    read_flow(verdict, item, &flows[at++], crossed);
  }
  if (hr__share_max_min(flows, n, crossed, capacities, n_all, rates) != HR_OK) {
    verdict->malformed = "out of memory";
    return;
  }
  cJSON *actual = cJSON_CreateArray();
  at = 0;
  cJSON_ArrayForEach(item, hr__expected(verdict, "rates", NULL)) {
    const double expected = rate_of(item), rate = at < n ? rates[at] : (double)NAN;
    /* the case may state a rate as a fraction: a rate that is equal within rounding is replaced by the expected value
     */
    const bool is_equal = (isinf(expected) && isinf(rate)) || fabs(expected - rate) <= 1e-12 * expected;
    cJSON_AddItemToArray(actual, is_equal ? cJSON_Duplicate(item, true) : cJSON_CreateNumber(rate));
    at++;
  }
  hr__check_json(verdict, "rates", actual, HR__COMPARE_EXACTLY, 0);
  if (at != n) verdict->malformed = "expected one rate per flow";
}

/* ---- Reading data ---------------------------------------------------------------------------------------- */

static void run_need(struct hr__verdict *verdict) {
  const double need =
      hr__io_need(hr__case_real(verdict->input, "batch", 1), hr__case_real(verdict->input, "bytes_per_sample", 0),
                  hr__case_real(verdict->input, "compute_s", 1));
  hr__check_number(verdict, "bytes_per_s", need, 1e-12 * need);
}

static void run_speed(struct hr__verdict *verdict) {
  const struct hr__io_job job = {.full_speed = hr__case_real(verdict->input, "full_speed", 0),
                                 .remote = hr__case_real(verdict->input, "remote", (double)INFINITY),
                                 .cached = hr__case_real(verdict->input, "cache", 0),
                                 .dataset = hr__case_real(verdict->input, "dataset", 0),
                                 .is_first_epoch = hr__case_bool(verdict->input, "first_epoch", false) ||
                                                   hr__case_whole(verdict->input, "epoch", 0) == 1};
  const double speed = hr__io_speed(&job);
  hr__check_number(verdict, "speed", speed, 1e-9 * speed);
  hr__check_number(verdict, "remote_need", hr__io_remote_need(&job), 1e-9 * job.full_speed);
}

static struct hr__mlperf read_mlperf(const cJSON *input) {
  return (struct hr__mlperf){.accelerators = hr__case_whole(input, "accelerators", 0),
                             .clients = hr__case_whole(input, "clients", 0),
                             .client_bytes = hr__case_real(input, "client_memory_GiB", 0) * 0x1p30,
                             .batch = hr__case_real(input, "batch", 1),
                             .sample_bytes = hr__case_real(input, "sample_bytes", 1),
                             .samples_per_file = hr__case_real(input, "samples_per_file", 1),
                             .min_steps = hr__case_real(input, "min_steps", 500),
                             .memory_factor = hr__case_real(input, "memory_factor", 5),
                             .step_s = hr__case_real(input, "step_s", 1)};
}

static void run_files(struct hr__verdict *verdict) {
  const struct hr__mlperf run = read_mlperf(verdict->input);
  const int64_t files = hr__mlperf_files(&run);
  hr__check_number(verdict, "files", (double)files, 0);
  hr__check_number(verdict, "size_GiB", floor((double)files * run.samples_per_file * run.sample_bytes / 0x1p30), 0);
}

/* Runs a case with measured values. The model gets the measured bandwidth of the storage. The rate in samples must
   agree within 0.001 %, and the time of an epoch within 0.4 %. */
static void run_measured(struct hr__verdict *verdict) {
  const struct hr__mlperf run = read_mlperf(verdict->input);
  const cJSON *bandwidth = hr__expected(verdict, "MiB_per_s", NULL);
  if (!cJSON_IsNumber(bandwidth)) {
    verdict->malformed = "expected the number \"MiB_per_s\"";
    return;
  }
  const double full = hr__mlperf_full_rate(&run);
  const double rate = hr__mlperf_rate(&run, bandwidth->valuedouble * 1048576, (double)INFINITY);
  const double samples = hr__case_real(verdict->input, "files", 0) * run.samples_per_file;
  hr__check_number(verdict, "samples_per_s", rate, 1e-5 * rate);
  hr__check_number(verdict, "MiB_per_s", rate * run.sample_bytes / 1048576, 1e-5 * bandwidth->valuedouble);
  hr__check_number(verdict, "derived_samples_per_s_without_io", full, 1e-3);
  hr__check_number(verdict, "derived_share_of_full_speed", rate / full, 1e-4);
  hr__check_number(verdict, "derived_epoch_s", samples / rate, 0.004 * samples / rate);
}

/* ---- Caches ---------------------------------------------------------------------------------------------- */

static enum hr__cache_policy policy_of(const cJSON *input) {
  return strcmp(hr__case_text(input, "policy", "lru"), "lru") == 0 ? HR__CACHE_LRU : HR__CACHE_UNIFORM;
}

static bool is_same_order(const cJSON *input) {
  const char *order = hr__case_text(input, "order", "new random order");
  return !strstr(order, "random") && !strstr(order, "new");
}

static void run_cache_epoch(struct hr__verdict *verdict) {
  const int64_t n_items = hr__case_whole(verdict->input, "items", 0),
                n_cached = hr__case_whole(verdict->input, "cache", 0);
  if (n_items < 0 || n_items > 1000) {
    verdict->malformed = "\"items\" must be from 0 to 1000";
    return;
  }
  const struct hr__cache_misses misses =
      hr__cache_misses(policy_of(verdict->input), n_items, n_cached, is_same_order(verdict->input));
  /* an expected mean with at most two decimals was measured in a simulation; other means are exact */
  const double mean = hr__case_value_whole(hr__expected(verdict, "derived_mean", NULL), 0) >= 0
                          ? cJSON_GetNumberValue(hr__expected(verdict, "derived_mean", NULL))
                          : 0;
  const bool is_rounded = fabs(100 * mean - round(100 * mean)) < 1e-9;
  hr__check_number(verdict, "misses_per_epoch_after_first", misses.mean, 1e-9);
  hr__check_number(verdict, "misses_per_epoch_after_first_min", (double)misses.least, 0);
  hr__check_number(verdict, "misses_per_epoch_after_first_max", (double)misses.most, 0);
  hr__check_number(verdict, "derived_mean", misses.mean, is_rounded ? 0.01 : 1e-6);
  hr__check_number(verdict, "derived_min", (double)misses.least, 0);
  hr__check_number(verdict, "derived_max", (double)misses.most, 0);
}

static void run_cache_share(struct hr__verdict *verdict) {
  const double share = hr__case_real(verdict->input, "share_cached", 0);
  const double hits = hr__cache_hits(policy_of(verdict->input), share, is_same_order(verdict->input));
  hr__check_number(verdict, "derived_hit_share", hits, 1e-6);
  hr__check_number(verdict, "hit_share", hits, 1e-6);
}

static const struct hr__case_kind data_kinds[] = {{"multikueue-incremental", run_incremental},
                                                  {"max-min-one", run_share_one},
                                                  {"max-min-net", run_share_net},
                                                  {"io-need", run_need},
                                                  {"io-speed", run_speed},
                                                  {"mlperf-files", run_files},
                                                  {"mlperf-measured", run_measured},
                                                  {"cache-epoch", run_cache_epoch},
                                                  {"cache-lru-share", run_cache_share},
                                                  {NULL, NULL}};

/* ---- Kinds ----------------------------------------------------------------------------------------------- */

void hr__conform_clusters(struct hr__verdict *verdict) {
  if (!hr__run_kind(verdict, hr__cluster_autoscaler_kinds) && !hr__run_kind(verdict, hr__karpenter_kinds) &&
      !hr__run_kind(verdict, data_kinds)) {
    hr__verdict_unknown_kind(verdict);
    return;
  }
  if (verdict->malformed || verdict->no_memory) return;
  char text[200];
  uint32_t at = 0;
  const cJSON *member;
  cJSON_ArrayForEach(member, verdict->expect) {
    if (at >= 64 || !(verdict->compared >> at & 1)) {
      snprintf(text, sizeof text, "expected value %.100s", member->string);
      hr__verdict_unsupported(verdict, text);
    }
    at++;
  }
}
