/* The cheapest cluster near the data; if jobs wait there for longer than `patience_s`, the cluster with the least wait.
 */
#include <headroom/router.h>

static const struct hr_param params[] = {
    {.key = "patience_s", .type = HR_PARAM_REAL, .fallback = "600", .max = 1e9, .help = "longest wait near the data"},
    {0}};

static enum hr_status create(const struct hr_router_env *env, void **self, struct hr_error *error) {
  int64_t *patience_us = hr_arena_alloc(env->arena, sizeof *patience_us);
  (void)error;
  if (!(*self = patience_us)) return HR_NO_MEMORY;
  *patience_us = (int64_t)(env->params[0].real * (double)HR_SECOND_US);
  return HR_OK;
}

static uint32_t choose(void *self, const struct hr_router_job *job, const struct hr_router_cluster *clusters,
                       uint32_t n_clusters) {
  const int64_t patience_us = *(const int64_t *)self;
  uint32_t near = HR_NONE, soonest = HR_NONE;
  (void)job;
  for (uint32_t i = 0; i < n_clusters; i++) {
    const struct hr_router_cluster *cluster = &clusters[i];
    if (!cluster->eligible) continue;
    if (soonest == HR_NONE || cluster->wait_us < clusters[soonest].wait_us) soonest = i;
    if (!cluster->has_data || cluster->wait_us > patience_us) continue;
    if (near == HR_NONE || cluster->price_uusd_h < clusters[near].price_uusd_h) near = i;
  }
  return near != HR_NONE ? near : soonest;
}

HR_ROUTER(data_first) = {HR_ROUTER_HEAD,   .name = "data-first", .summary = "cheapest near the data, bounded wait",
                         .params = params, .create = create,     .choose = choose};
