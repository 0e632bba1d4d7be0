/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_ADVISE_ADVISE_H
#define HR_PLAN_ADVISE_ADVISE_H

/* What advice is made of, for those parts that make it and for those that write it. */

#include "headroom/unstable/advise.h"
#include "headroom/unstable/catalog.h"
#include "plan/advise/run_profile.h"
#include "plan/runner/intervals.h"
#include "plan/runner/runner.h"

/* Figures of every run: those of all jobs, then GROUP_FIGURES of each class of the trace, then of each tenant. */
enum { HR__A_MONTHLY, HR__A_COST, HR__A_LOST, HR__A_GROUPS };
enum { HR__A_WAIT, HR__A_COMPLETED, HR__A_GROUP_COST, HR__A_GROUP_FIGURES };

/* A text list that grows. */
struct hr__texts {
  char **at;
  size_t count;
};

/* A change that may be advised. */
struct hr__proposal {
  enum hr_advice_kind kind;
  uint32_t class_; /* HR_N_CLASSES: all jobs of the pool */
  uint32_t pool;   /* HR_NONE: several */
  char from[200], to[200];
  struct hr__texts set;
  struct hr_notes assumed;
  uint32_t mix;
  uint32_t stricter;   /* the same, were jobs as fast as the catalogue has it; HR_NONE: that cannot be run */
  char objection[200]; /* what speaks against it, whatever its runs say; "": nothing */
  /* What its runs say. */
  bool advised;
  char reason[300];
  struct hr__interval monthly_usd; /* of the paired difference */
};

struct hr_advice {
  struct hr_advise_config config;
  struct hr__runner *lab;
  struct hr_catalog *catalog;
  struct hr__run_profile look;
  struct hr__figure *figures;
  size_t n_figures;
  uint32_t class_at[HR_N_CLASSES]; /* place of a class's figures; HR_NONE: the trace has none of it */
  uint32_t *tenant_at;             /* [tenants] */
  uint32_t world, base;            /* in the lab */
  uint32_t n_replications;
  double *scratch; /* [n_replications] */
  bool managed;    /* whether elastic nodes are asked for when they are wanted, and given back */
  bool queue;      /* whether the policy has a parameter for that */
  cJSON *pools;    /* as the scenario has them; NULL: from a list of nodes */
  cJSON *classes;  /* likewise; NULL: it has none */
  struct hr__proposal *proposals;
  size_t n_proposals;
  struct hr_notes notes;
};

/* ---- Kinds: each adds proposals that are worth a run -------------------------------------------------- */

enum hr_status hr__advise_gpu_types(struct hr_advice *advice, struct hr_error *error);
enum hr_status hr__advise_idle(struct hr_advice *advice, struct hr_error *error);
enum hr_status hr__advise_spot(struct hr_advice *advice, struct hr_error *error);
enum hr_status hr__advise_checkpoints(struct hr_advice *advice, struct hr_error *error);

/* ---- Making a proposal ------------------------------------------------------------------------------ */

void hr__proposal_init(struct hr__proposal *proposal, enum hr_advice_kind kind, uint32_t class_, uint32_t pool);
void hr__proposal_finish(struct hr__proposal *proposal);
/* Adds an override. */
enum hr_status hr__proposal_set(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...)
    HR_PRINTF(3, 4);
/* Adds "path=value"; the value is freed, and NULL is want of memory. */
enum hr_status hr__proposal_set_json(struct hr__proposal *proposal, const char *path, cJSON *value,
                                     struct hr_error *error);
enum hr_status hr__proposal_assume(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...)
    HR_PRINTF(3, 4);
/* Loads it; where it cannot be loaded that is noted, and `mix` is HR_NONE. */
enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error);
/* Loads it unless that was done, and keeps it; one that cannot be loaded goes. Takes it over in any case. */
enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error);

/* The policy is told to ask for elastic nodes when they are wanted, which it may do already; `spot`: spot ones, too. */
enum hr_status hr__proposal_manage(const struct hr_advice *advice, struct hr__proposal *proposal, bool spot,
                                   struct hr_error *error);

/* A copy of a pool's entry without `unwanted` (NULL-terminated), under a name that no pool has: the pool's own and
   `suffix`. NULL when out of memory. */
cJSON *hr__pool_entry(const struct hr_advice *advice, uint32_t pool, const char *suffix, const char *const *unwanted);
/* In the place of what stands there, if anything does. False when out of memory. The item (NULL: there was no memory
   for it) is the entry's, or deleted. */
bool hr__put_item(cJSON *entry, const char *key, cJSON *value);
bool hr__put_number(cJSON *entry, const char *key, double number);
bool hr__put_text(cJSON *entry, const char *key, const char *text);
/* A list of one class, or of all `but` one that use the pool. */
bool hr__put_class(cJSON *entry, uint32_t class_);

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Runs the first `replications` of the base and of a mix, those that were not made. */
enum hr_status hr__advice_run(struct hr_advice *advice, const uint32_t *mixes, size_t count, uint32_t replications,
                              struct hr_error *error);
/* The paired difference of a figure. */
enum hr_status hr__advice_difference(const struct hr_advice *advice, uint32_t mix, size_t figure, uint32_t replications,
                                     struct hr__interval *interval, struct hr_error *error);
/* A figure without the change and with it. */
struct hr_advice_figure hr__advice_figure(const struct hr_advice *advice, uint32_t mix, size_t figure,
                                          uint32_t replications);
/* Whether service is as good with the mix, or nearly; else `reason` says what is not. */
bool hr__advice_serves(const struct hr_advice *advice, uint32_t mix, uint32_t replications, char *reason, size_t size);

static inline const struct hr_pool_spec *hr__advice_pool(const struct hr_advice *advice, uint32_t pool) {
  return &advice->config.scenario->cluster.pools[pool];
}

/* Of a proposal's class, or of all jobs. */
size_t hr__group_figure(const struct hr_advice *advice, uint32_t class_, unsigned figure);
/* The only tenant that a proposal is about; NULL: several, or none. */
const char *hr__class_words(uint32_t class_);

#endif
