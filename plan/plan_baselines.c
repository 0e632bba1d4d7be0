/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a choice is held against: today's mix, if the plan names it, and the same work with nothing reserved. */

#include "plan/planning.h"

#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
}

/* A mix beside the grid: overrides, and the text of each variable. */
struct draft {
  const char **set; /* borrowed */
  size_t n_set;
  char **texts; /* by variable */
  char **made;  /* overrides of its own */
  size_t n_made;
};

static bool draft_make(const struct hr_plan *plan, struct draft *draft) {
  size_t most = 0;
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    most += variable->n_pools;
    for (uint32_t k = 0; k < variable->axis.n_levels; k++) most += variable->axis.levels[k].n_set;
    if (plan->space.spec->baseline) most += plan->space.spec->baseline[i].n_set;
  }
  *draft = (struct draft){.set = calloc(most + 1, sizeof *draft->set),
                          .texts = calloc((size_t)plan->space.n_axes + 1, sizeof *draft->texts),
                          .made = calloc(most + 1, sizeof *draft->made)};
  return draft->set && draft->texts && draft->made;
}

/* The texts are an option's once one was made of it. */
static void draft_finish(const struct hr_plan *plan, struct draft *draft) {
  for (size_t i = 0; i < draft->n_made; i++) free(draft->made[i]);
  for (uint32_t i = 0; draft->texts && i < plan->space.n_axes; i++) free(draft->texts[i]);
  free(draft->texts);
  free(draft->set);
  free(draft->made);
}

static bool take_level(struct draft *draft, uint32_t variable, const struct hr_grid_level *level) {
  for (size_t i = 0; i < level->n_set; i++) draft->set[draft->n_set++] = level->set[i];
  return (draft->texts[variable] = strdup(level->text)) != NULL;
}

static enum hr_status run_draft(struct hr_plan *plan, struct draft *draft, struct hr__option *option,
                                struct hr_error *error) {
  uint32_t mix, replications = plan->choice.replications;
  struct hr__trial *trials = calloc((size_t)replications + 1, sizeof *trials);
  struct hr_error inner = {0};
  enum hr_status status = trials ? HR_OK : no_memory(error);
  if (status == HR_OK) {
    status = hr__lab_add_mix(plan->lab, draft->set, draft->n_set, plan->judge.world, &mix, &inner);
    if (status != HR_OK) hr_fail(error, status, "%sbaseline: %s", plan->space.spec->self.place, inner.text);
  }
  for (uint32_t r = 0; status == HR_OK && r < replications; r++) trials[r] = (struct hr__trial){mix, r};
  if (status == HR_OK) status = hr__lab_run(plan->lab, trials, replications, error);
  if (status == HR_OK) status = hr__option_make(plan, &plan->judge, HR_NONE, mix, replications, option, error);
  if (status == HR_OK) {
    option->texts = draft->texts;
    draft->texts = NULL;
  }
  free(trials);
  return status;
}

/* ---- Today ------------------------------------------------------------------------------------------ */

/* What it does not name is as in the choice. */
static enum hr_status make_today(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_spec *spec = plan->space.spec;
  struct draft draft;
  bool made = draft_make(plan, &draft);
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_axes && made; i++)
    made = take_level(&draft, i,
                      spec->baseline[i].text ? &spec->baseline[i] : &spec->variables[i].axis.levels[point.level[i]]);
  enum hr_status status = made ? run_draft(plan, &draft, &plan->today, error) : no_memory(error);
  draft_finish(plan, &draft);
  return status;
}

/* ---- All on demand ---------------------------------------------------------------------------------- */

/* Whether a variable is of on-demand pools alone. */
static bool is_on_demand(const struct hr_plan *plan, const struct hr_plan_variable *variable) {
  const struct hr_scenario *scenario = hr__lab_scenario(plan->lab, plan->choice.mix);
  for (uint32_t i = 0; i < variable->n_pools; i++)
    if (scenario->cluster.pools[variable->pools[i]].market.market != HR_MARKET_ON_DEMAND) return false;
  return true;
}

/* Whether the choice may have on-demand capacity at all, as a variable or fixed. */
static bool has_on_demand(const struct hr_plan *plan) {
  const struct hr_scenario *scenario = hr__lab_scenario(plan->lab, plan->choice.mix);
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    if (variable->pools && is_on_demand(plan, variable)) return true;
  }
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market == HR_MARKET_ON_DEMAND && scenario->cluster.pools[i].nodes > 0)
      return true;
  return false;
}

static bool take_none(struct draft *draft, uint32_t variable, const struct hr_plan_variable *of) {
  for (uint32_t i = 0; i < of->n_pools; i++) {
    char text[64];
    snprintf(text, sizeof text, "cluster.pools.%u.nodes=0", of->pools[i]);
    char *copy = strdup(text);
    if (!copy) return false;
    draft->made[draft->n_made++] = copy;
    draft->set[draft->n_set++] = copy;
  }
  return (draft->texts[variable] = strdup("0")) != NULL;
}

/* Every on-demand limit as high as it goes, no other capacity that may be chosen; all else as in the choice. */
static enum hr_status make_all_on_demand(struct hr_plan *plan, struct hr_error *error) {
  struct draft draft;
  bool made = draft_make(plan, &draft);
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_axes && made; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    const struct hr_grid_axis *axis = &variable->axis;
    if (!variable->pools)
      made = take_level(&draft, i, &axis->levels[point.level[i]]);
    else if (is_on_demand(plan, variable))
      made = take_level(&draft, i, &axis->levels[axis->n_levels - 1]);
    else
      made = take_none(&draft, i, variable);
  }
  enum hr_status status = made ? run_draft(plan, &draft, &plan->all_on_demand, error) : no_memory(error);
  draft_finish(plan, &draft);
  return status;
}

enum hr_status hr__plan_baselines(struct hr_plan *plan, struct hr_error *error) {
  uint64_t before = hr__lab_runs(plan->lab);
  enum hr_status status = plan->space.spec->baseline ? make_today(plan, error) : HR_OK;
  if (status == HR_OK && has_on_demand(plan)) status = make_all_on_demand(plan, error);
  plan->runs_of_baselines = hr__lab_runs(plan->lab) - before;
  return status;
}
