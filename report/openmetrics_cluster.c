/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster as a whole, under the names of the exporter for Slurm that most use (slurm_gpus_..., slurm_queue_...),
   and what the spot market took back. */

#include "report/openmetrics.h"

enum { WHOLE = 1000000 };

/* ---- Counts ----------------------------------------------------------------------------------------- */

enum count { QUEUE_PENDING, QUEUE_RUNNING, GPUS_ALLOC, GPUS_IDLE, GPUS_TOTAL, GPUS_UTILIZATION, N_COUNTS };

static int64_t count_millionths(const struct hr_count_change *change, enum count count) {
  switch (count) {
  case QUEUE_PENDING:
    return (int64_t)change->waiting * WHOLE;
  case QUEUE_RUNNING:
    return (int64_t)change->running * WHOLE;
  case GPUS_ALLOC:
    return (int64_t)change->allocated_milli * 1000;
  case GPUS_IDLE:
    return ((int64_t)change->total_milli - (int64_t)change->allocated_milli) * 1000;
  case GPUS_TOTAL:
    return (int64_t)change->total_milli * 1000;
  default:
    return change->total_milli ? (int64_t)((hr_amount)change->allocated_milli * WHOLE / change->total_milli) : 0;
  }
}

static void put_count(struct hr__metrics *metrics, enum count count) {
  const struct hr_count_change *changes, now_none = {0}, *now = &now_none;
  size_t n_changes = hr_counts_changes(metrics->run->counts, &changes), next = 0;
  hr__metrics_no_labels(metrics);
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    while (next < n_changes && changes[next].at_us <= k * metrics->step_us) now = &changes[next++];
    hr__metrics_sample(metrics, k, count_millionths(now, count));
  }
}

static void put_counts(struct hr__metrics *metrics) {
  static const struct {
    const char *name, *help;
  } families_of[N_COUNTS] = {{"slurm_queue_pending", "Pending jobs in queue"},
                             {"slurm_queue_running", "Running jobs in the cluster"},
                             {"slurm_gpus_alloc", "Allocated GPUs"},
                             {"slurm_gpus_idle", "Idle GPUs"},
                             {"slurm_gpus_total", "Total GPUs"},
                             {"slurm_gpus_utilization", "Total GPU utilization"}};
  for (unsigned i = 0; i < N_COUNTS; i++) {
    hr__metrics_family(metrics, families_of[i].name, "gauge", NULL, families_of[i].help);
    put_count(metrics, (enum count)i);
  }
}

/* ---- Reclaims --------------------------------------------------------------------------------------- */

static bool is_reclaim(const struct hr_node_change *change, uint32_t pool) {
  return change->pool.id == pool && change->kind == HR_EVENT_NODE_DOWN && change->reason == HR_REASON_RECLAIMED;
}

static void put_reclaims_of(struct hr__metrics *metrics, uint32_t pool) {
  const struct hr_node_change *changes;
  const char *name = metrics->run->cluster->pools[pool].name;
  size_t count = hr_history_changes(metrics->run->history, &changes), next = 0;
  int64_t reclaims = 0;
  hr__metrics_no_labels(metrics);
  hr__metrics_label(metrics, "pool", name ? name : "pool");
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    for (; next < count && changes[next].at_us <= k * metrics->step_us; next++)
      reclaims += is_reclaim(&changes[next], pool);
    hr__metrics_sample(metrics, k, reclaims * WHOLE);
  }
}

static void put_reclaims(struct hr__metrics *metrics) {
  const struct hr_cluster_spec *cluster = metrics->run->cluster;
  bool any = false;
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
    if (cluster->pools[pool].market.market != HR_MARKET_SPOT) continue;
    if (!any)
      hr__metrics_family(metrics, "headroom_node_reclaims", "counter", NULL,
                         "The total number of nodes that the spot market took back, per 'pool'.");
    any = true;
    put_reclaims_of(metrics, pool);
  }
}

void hr__metrics_of_cluster(struct hr__metrics *metrics) {
  put_counts(metrics);
  put_reclaims(metrics);
}

uint64_t hr__metrics_cluster_series(const struct hr_export *run) {
  return N_COUNTS + (uint64_t)run->cluster->n_pools;
}
