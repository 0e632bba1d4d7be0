/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_SHARES_H
#define HR_POLICIES_KAI_SHARES_H

/*
 * Queues of KAI and their shares of CPU, memory and GPUs.
 *
 * Amounts are whole numbers: thousandths of a core, bytes, and millionths of a GPU. The amount -1 means unlimited where
 * a quota (`deserved`), a limit or a fair share is meant. The queues are an array; `parent` is an index into it.
 */

#include "headroom/base.h"

enum { HR__KAI_CPU, HR__KAI_MEM, HR__KAI_GPU, HR__KAI_RESOURCES };
enum { HR__KAI_UNLIMITED = -1, HR__KAI_GPU_UNIT = 1000000 };

#define HR__KAI_NONE UINT32_MAX

struct hr__kai_amounts {
  int64_t of[HR__KAI_RESOURCES];
};

/* One queue's share of one resource. */
struct hr__kai_share {
  int64_t deserved, limit;           /* quota and limit of the configuration */
  int64_t fair;                      /* result of the division */
  int64_t allocated;                 /* held by pods that run or have a place, in the whole subtree */
  int64_t allocated_non_preemptible; /* the part of jobs that must not be preempted */
  int64_t request;                   /* allocated, and requested by pending pods */
  double weight;                     /* of the division of what exceeds the quotas */
  double usage;                      /* past usage, as a fraction of the cluster */
};

struct hr__kai_queue {
  struct hr__kai_share share[HR__KAI_RESOURCES];
  uint32_t parent; /* HR__KAI_NONE: a top queue */
  uint32_t n_children;
  uint32_t name_rank; /* position of the name among the sorted names */
  int32_t priority;
  int64_t created;                                        /* smaller: older */
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us; /* -1: not set */
};

/* ---- Amounts ---- */

void hr__kai_add(struct hr__kai_amounts *to, const struct hr__kai_amounts *amounts);
void hr__kai_subtract(struct hr__kai_amounts *from, const struct hr__kai_amounts *amounts);
/* Whether `a` is at most `b` in every resource, where -1 is above every amount and equal to itself. */
bool hr__kai_at_most(const struct hr__kai_amounts *a, const struct hr__kai_amounts *b);
/* Whether the number `a` is less than `b` in every resource. */
bool hr__kai_less(const struct hr__kai_amounts *a, const struct hr__kai_amounts *b);

/* ---- Shares ---- */

/* What a queue requests, within its limit. */
int64_t hr__kai_requestable(const struct hr__kai_share *share);
/* What a queue may hold before others may take it back: the larger of quota and fair share, within the limit. */
int64_t hr__kai_allocatable(const struct hr__kai_share *share);
struct hr__kai_amounts hr__kai_allocatable_of(const struct hr__kai_queue *queue);
struct hr__kai_amounts hr__kai_allocated_of(const struct hr__kai_queue *queue);
struct hr__kai_amounts hr__kai_non_preemptible_of(const struct hr__kai_queue *queue);
struct hr__kai_amounts hr__kai_deserved_of(const struct hr__kai_queue *queue);
struct hr__kai_amounts hr__kai_fair_of(const struct hr__kai_queue *queue);
/* The largest ratio of `allocated` to what the queue may hold. `total` replaces an unlimited share. */
double hr__kai_dominant_share(const struct hr__kai_queue *queue, const struct hr__kai_amounts *allocated,
                              const struct hr__kai_amounts *total);

/* ---- Division ---- */

/* Gives each of the `n` sibling queues `ids` its quota within its request. Returns the rest, which may be negative. */
int64_t hr__kai_divide_quotas(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource,
                              int64_t total);
/* Divides what exceeds the quotas: by priority, weight and past usage. `k` is the weight of past usage. `remainders` is
   scratch memory for `n` numbers. Returns the rest. */
int64_t hr__kai_divide_rest(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource, int64_t total,
                            double k, double *remainders);
/* Both. Returns the rest, at least 0. */
int64_t hr__kai_divide(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource, int64_t total,
                       double k, double *remainders);
/* Divides `total` among the top queues, and the fair share of each queue among its children. `ids` is scratch memory
   for `n` ids, `remainders` for `n` numbers. */
void hr__kai_divide_tree(struct hr__kai_queue *queues, uint32_t n, const struct hr__kai_amounts *total, double k,
                         uint32_t *ids, double *remainders);

#endif
