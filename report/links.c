/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPU time of jobs whose GPUs are joined by some network, and what of it has no figure of how fast that is. */

#include "headroom/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct hr_links {
  const struct hr_trace *trace;
  const struct hr_network_speeds *speeds;
  uint8_t *known;    /* [models + 1][HR_N_NETWORKS]: 0 not looked up, 1 there is no figure, 2 there is */
  bool *is_missing;  /* [models + 1]: a job of it had none; the last one of jobs without a model */
  hr_amount time_us; /* thousandths of a GPU x microseconds: of jobs that are joined by a network */
  hr_amount missing_us;
};

struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds) {
  size_t n_models = (size_t)trace->models.count + 1;
  struct hr_links *links = calloc(1, sizeof *links);
  if (!links) return NULL;
  links->trace = trace;
  links->speeds = speeds;
  links->known = calloc(n_models * HR_N_NETWORKS, sizeof *links->known);
  links->is_missing = calloc(n_models, sizeof *links->is_missing);
  if (links->known && links->is_missing) return links;
  hr_links_destroy(links);
  return NULL;
}

void hr_links_destroy(struct hr_links *links) {
  if (!links) return;
  free(links->known);
  free(links->is_missing);
  free(links);
}

static uint32_t model_of(const struct hr_trace *trace, hr_job job) {
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  return model == HR_NONE ? trace->models.count : model;
}

static bool has_figure(struct hr_links *links, uint32_t model, enum hr_network network) {
  uint8_t *known = &links->known[(size_t)model * HR_N_NETWORKS + network];
  const char *name = model < links->trace->models.count ? links->trace->models.text[model] : NULL;
  if (*known == 0) *known = hr_network_span_of(links->speeds, name, network).count ? 2 : 1;
  return *known == 2;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_links *links = self;
  bool leaves = event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT;
  if (!leaves || !event->placement || links->trace->gpus[event->job.id] < 2) return;
  enum hr_network network = hr_cluster_links(view->cluster, event->placement);
  if (network == HR_NETWORK_NONE) return;
  uint32_t model = model_of(links->trace, event->job);
  hr_amount time_us = (hr_amount)hr_placement_milli(event->placement, links->trace, event->job) *
                      (event->at_us - view->attempt_us[event->job.id]);
  links->time_us += time_us;
  if (has_figure(links, model, network)) return;
  links->missing_us += time_us;
  links->is_missing[model] = true;
}

struct hr_fold hr_links_fold(struct hr_links *links) {
  return (struct hr_fold){.self = links, .on_event = on_event};
}

enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error) {
  enum { MOST_NAMES = 5 };
  char names[MOST_NAMES * 64 + 32] = "";
  size_t used = 0;
  uint32_t n_models = 0, n_named = links->trace->models.count;
  if (links->missing_us == 0) return HR_OK;
  for (uint32_t i = 0; i < n_named; i++)
    if (links->is_missing[i] && n_models++ < MOST_NAMES)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                               links->trace->models.text[i]);
  if (links->is_missing[n_named])
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", "jobs without a model");
  uint32_t tenths = (uint32_t)((links->missing_us * 1000 + links->time_us / 2) / links->time_us);
  enum hr_status status = hr_notes_add(notes,
                                       "network_speeds: %" PRIu32 ".%" PRIu32
                                       " %% of the GPU time of jobs on GPUs that are joined by a network has no "
                                       "figure and goes as fast as within a node: %s%s",
                                       tenths / 10, tenths % 10, names, n_models > MOST_NAMES ? ", ..." : "");
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}
