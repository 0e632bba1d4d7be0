/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a job checkpoints: what its class and its own columns say, and how often that is on spot nodes. */

#include "sim/engine.h"

#include <math.h>

const struct hr_class_spec *hr__job_class_spec(const struct hr__engine *engine, hr_job job) {
  static const struct hr_class_spec nothing = {0};
  const struct hr_class_spec *classes = engine->config->classes;
  const uint8_t *class_ = engine->trace->class_;
  return classes ? &classes[class_ ? class_[job.id] : HR_CLASS_UNKNOWN] : &nothing;
}

uint64_t hr__checkpoint_mib(const struct hr__engine *engine, hr_job job) {
  uint64_t own = engine->trace->checkpoint_mib ? engine->trace->checkpoint_mib[job.id] : 0;
  return own ? own : hr__job_class_spec(engine, job)->checkpoint_mib;
}

bool hr__writes_to_storage(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  return engine->cluster.pools[pool.id].spec->storage_mib_s > 0 && hr__checkpoint_mib(engine, job) > 0;
}

static int64_t lone_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (!hr__writes_to_storage(engine, job, pool)) return hr__job_class_spec(engine, job)->write_us;
  double seconds = (double)hr__checkpoint_mib(engine, job) / (double)engine->cluster.pools[pool.id].spec->storage_mib_s;
  return (int64_t)llround(seconds * (double)HR_SECOND_US);
}

/* How many times as often as one node is lost, some of a job's nodes are. */
static double nodes_lost_apart(const struct hr_spot_spec *spot, uint32_t pool_nodes, uint32_t n_nodes) {
  switch (spot->model) {
  case HR_SPOT_ON_OFF:
  case HR_SPOT_TRACE:
    return 1;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return hr__blow_share(spot, pool_nodes, n_nodes);
  case HR_SPOT_NONE:
  case HR_SPOT_BATHTUB:
  case HR_N_SPOT_MODELS:
    break;
  }
  return n_nodes;
}

/* Daly's interval (A higher order estimate of the optimum checkpoint interval for restart dumps, 2006), to first order:
   sqrt(2 d M) - d for a write of d and a mean time M between losses, M where d is as long as 2 M. */
static int64_t young_daly_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool.id].spec;
  if (spec->market.market != HR_MARKET_SPOT) return HR_NEVER_US;
  double life_s = 3600 / hr_cluster_reclaims_per_h(&engine->cluster, pool);
  uint32_t n_nodes = engine->seat[job.id].n_slices;
  if (n_nodes > 1) life_s /= nodes_lost_apart(&spec->market.spot, spec->nodes, n_nodes);
  if (!isfinite(life_s)) return HR_NEVER_US;
  double write_s = (double)lone_write_us(engine, job, pool) / (double)HR_SECOND_US;
  double interval_s = write_s < 2 * life_s ? sqrt(2 * write_s * life_s) - write_s : life_s;
  if (interval_s * (double)HR_SECOND_US >= (double)HR_MAX_INPUT_US) return HR_NEVER_US;
  int64_t interval_us = (int64_t)llround(interval_s * (double)HR_SECOND_US);
  return interval_us > 0 ? interval_us : HR_SECOND_US;
}

int64_t hr__checkpoint_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  int64_t own = engine->trace->checkpoint_interval_us ? engine->trace->checkpoint_interval_us[job.id] : HR_UNKNOWN_US;
  const struct hr_class_spec *class_ = hr__job_class_spec(engine, job);
  bool periodic = class_->checkpoint != HR_CHECKPOINT_ON_NOTICE && class_->checkpoint != HR_CHECKPOINT_CONTINUOUS;
  if (own > 0 && periodic) return own;
  switch (class_->checkpoint) {
  case HR_CHECKPOINT_INTERVAL:
    return class_->interval_us > 0 ? class_->interval_us : HR_NEVER_US;
  case HR_CHECKPOINT_YOUNG_DALY:
    return young_daly_us(engine, job, pool);
  case HR_CHECKPOINT_NONE:
  case HR_CHECKPOINT_ON_NOTICE:
  case HR_CHECKPOINT_CONTINUOUS:
  case HR_N_CHECKPOINTS:
    break;
  }
  return HR_NEVER_US;
}
