/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_REPLAY_H
#define HR_TESTS_ORACLE_REPLAY_H

/* A workload on a cluster, replayed by the product or by the naive scheduler, with outcomes of one form. Errors that
   cannot occur in a sound test (memory, a parameter's name) end the program. */

#include "naive.h"

#include "headroom/policies.h"
#include "headroom/sim.h"

/* Times in microseconds, -1 if unknown. `types`, `regions`: bit i is set if GPU type or region i is accepted; 0:
   any. */
struct replay_job {
  int64_t submit, work, limit, estimate;
  int32_t priority;
  uint32_t gpus, types, regions;
  uint8_t class_;   /* enum hr_job_class */
  uint32_t tenant;  /* below REPLAY_TENANTS; 0: none */
  int64_t deadline; /* on the clock of `submit`; 0: none */
  uint32_t user;    /* below NAIVE_MAX_USERS; 0: none */
  uint32_t name;    /* of replay_name; 0: none */
};

/* GPU types and regions are numbered; the highest number is one that no pool has. */
enum { REPLAY_TYPES = 4, REPLAY_REGIONS = 3, REPLAY_TENANTS = 4 };
struct replay_pool {
  struct naive_pool shape;
  uint32_t type;
  uint32_t region;  /* 0: in none; else its number and 1 */
  uint32_t classes; /* as struct hr_pool_spec has them */
};

enum { REPLAY_NAMES = 48 };
/* NULL for 0. Names are more or less alike, some in all but what comes after 64 characters. */
const char *replay_name(uint32_t name);

/* Jobs sorted by submit. */
struct replay_case {
  struct replay_job *jobs;
  uint32_t n_jobs;
  struct replay_pool pools[NAIVE_MAX_POOLS];
  uint32_t n_pools;
  bool shares; /* nodes of one GPU that is shared; jobs ask for thousandths of one: `gpus` of jobs and pools */
  struct naive_terms terms; /* times in microseconds; tenants have weights only under `skip`, and none when all are 0 */
};
/* The documented ones. */
struct naive_terms replay_default_terms(void);
/* `fair_share`: "tree", "classic" or NULL. */
void replay_set_terms(struct hr_policy_choice *choice, const struct naive_terms *terms, const char *fair_share);
void replay_print_terms(const struct naive_terms *terms);

struct replay_rules {
  enum naive_order order;
  enum naive_backfill backfill;
  enum naive_placement placement;
};
/* All rules are numbered 0..REPLAY_RULES - 1, the placement changing fastest, the order slowest. */
enum { REPLAY_RULES = NAIVE_ORDERS * NAIVE_BACKFILLS * NAIVE_PLACEMENTS };
/* The first so many: orders by what a job asks for alone. */
enum { REPLAY_PLAIN_RULES = NAIVE_EDF * NAIVE_BACKFILLS * NAIVE_PLACEMENTS };
struct replay_rules replay_rules_numbered(uint32_t number);
/* Whether the order goes by terms: by what has been used, or has finished. */
bool replay_looks_back(struct replay_rules rules);
/* Whether the naive scheduler implements this order of the queue policy. */
bool replay_has_order(const char *order);
/* "fifo, easy, best-fit"; `buffer` of at least 64 bytes. */
const char *replay_rules_text(struct replay_rules rules, char *buffer);

/* Starts are counted from the first submit; a seat's parts are sorted by unit. */
struct replay_outcome {
  struct naive_result result;
  uint32_t n_jobs;
  uint64_t digest; /* of the product's event log */
  bool failed;     /* the product ended with `error` */
  struct hr_error error;
};
void replay_outcome_finish(struct replay_outcome *outcome);

struct hr_trace *replay_trace(const struct replay_case *workload);
/* The way back: one workload from a trace's columns, on pools that all jobs accept; the caller frees `jobs`. */
struct replay_job *replay_jobs_of(const struct hr_trace *trace);

struct replay_outcome replay_product(const struct hr_trace *trace, const struct replay_case *workload,
                                     struct replay_rules rules, bool check);
struct replay_outcome replay_naive(const struct replay_case *workload, struct replay_rules rules);

/* The first job whose start or seat differs, HR_NONE when there is none. */
uint32_t replay_first_difference(const struct replay_outcome *a, const struct replay_outcome *b);
/* Prints the workload, the rules and both outcomes. */
void replay_print(const struct replay_case *workload, struct replay_rules rules, const struct replay_outcome *naive,
                  const struct replay_outcome *product);

#endif
