/* Shortest job first, by limit. Jobs that have waited longer than `patience_s` precede all others. */
#include <headroom/policy_kit.h>

struct patience {
  struct hr_placer *placer;
  hr_job *waiting;
  uint32_t count;
  int64_t patience_us;
};

static const struct hr_param params[] = {
    {.key = "patience_s", .type = HR_PARAM_REAL, .fallback = "86400", .max = 1e9, .help = "a longer wait has priority"},
    {0}};

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct patience *p = hr_arena_alloc(env->arena, sizeof *p);
  (void)error;
  if (!(*self = p)) return HR_NO_MEMORY;
  p->placer = hr_placer_create(env->arena, env->cluster, HR_PLACE_BEST_FIT);
  p->waiting = hr_arena_alloc(env->arena, (env->jobs->n_jobs + 1) * sizeof *p->waiting);
  p->patience_us = (int64_t)(env->params[0].real * (double)HR_SECOND_US);
  return p->placer && p->waiting ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct patience *p = self;
  (void)view;
  if (event->kind == HR_EVENT_SUBMIT || event->kind == HR_EVENT_INTERRUPT) p->waiting[p->count++] = event->job;
  return HR_OK;
}

/* Jobs start in the order of ascending keys. Key: minus the wait if it exceeds the patience, otherwise the limit. */
static int64_t key(const struct patience *p, const struct hr_view *view, hr_job job) {
  int64_t waited_us = view->now_us - view->jobs->submit_us[job.id];
  return waited_us > p->patience_us ? -waited_us : hr_trace_limit_us(view->jobs, job);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct patience *p = self;
  while (p->count > 0) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < p->count; i++) {
      int64_t a = key(p, view, p->waiting[i]), b = key(p, view, p->waiting[first]);
      if (a < b || (a == b && p->waiting[i].id < p->waiting[first].id)) first = i;
    }
    hr_job job = p->waiting[first];
    struct hr_placement placement;
    uint32_t accept_class = hr_cluster_accept_class(view->cluster, job);
    if (!hr_placer_find(p->placer, view->jobs->gpus[job.id], accept_class, &placement)) return HR_OK;
    enum hr_status status = hr_moves_start(moves, job, &placement, HR_REASON_IN_ORDER);
    if (status != HR_OK) return status;
    p->waiting[first] = p->waiting[--p->count];
  }
  return HR_OK;
}

HR_POLICY(patience) = {HR_POLICY_HEAD,   .name = "patience", .summary = "shortest job first, bounded wait",
                       .params = params, .create = create,   .observe = observe,
                       .decide = decide};
