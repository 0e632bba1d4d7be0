/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_SELECTOR_H
#define HR_POLICIES_SLURM_SELECTOR_H

/*
 * The choice of nodes by select/cons_tres, for jobs that request whole GPUs: where a job can run now, and when and
 * where it could run once running jobs have reached their time limits.
 *
 * Among the nodes with enough free GPUs, runs of consecutive nodes are formed. The smallest run that has enough nodes
 * is used; if no run has, the largest run is used first. Within a run, nodes are taken in their order.
 *
 * The expected start is not exact, because Slurm examines running jobs in batches. The first batch has the jobs that
 * end up to 30 seconds after a multiple of 30 seconds; each next batch is twice as long. The job is expected to start
 * when the last job of the first sufficient batch ends, on nodes that are chosen among all nodes that are free then.
 *
 * To find this batch without releasing the running jobs one by one, the nodes are listed in the order in which they get
 * at least 1, 2, 3 ... free GPUs. The lists are built again after running jobs have changed.
 *
 * If CPUs and memory of the nodes are limited (CR_Core_Memory), nodes without enough of them are left out, and running
 * jobs are released one by one. The same holds if GPUs are shared: a GPU is either given whole to a job, or its shards
 * are given to several jobs. A job gets its shards on the first GPU that has enough.
 *
 * Source: src/plugins/select/cons_tres/job_test.c and src/common/gres_select of SchedMD/slurm.
 */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

/* What a job needs: the same number of GPUs on each of its nodes, except the last one, which may need fewer; and CPUs
   and memory on each node. `gpu_milli`: the share of each GPU, in thousandths; 0: whole GPUs. */
struct hr__slurm_shape {
  uint32_t nodes, gpus_per_node, last_gpus, cpu_milli;
  uint64_t mem_mib;
  uint32_t gpu_milli;
};

/* A running job. */
struct hr__slurm_running {
  uint32_t job;
  int64_t end_us;  /* when it reaches its time limit */
  int64_t over_us; /* how much later it is expected to end if it is still running then; HR_NEVER_US: unknown, so its
                      limit is added again */
  int64_t limit_us;
  struct hr__slurm_shape shape;
  uint32_t *nodes; /* [shape.nodes] the nodes, in the order of the shape */
};

/* A node gets enough free GPUs when running job number `rank` - 1 ends. */
struct hr__slurm_release {
  uint32_t node, rank;
};

/* The nodes and the running jobs. Created by hr__slurm_nodes_create. */
struct hr__slurm_nodes {
  uint32_t n_nodes, n_words; /* n_words = (n_nodes + 63) / 64 */
  uint32_t max_gpus;         /* the most GPUs of a node */
  const uint32_t *gpus;      /* [n_nodes] GPUs of each node */
  uint32_t *used;            /* [n_nodes] GPUs in use, also those of which only a share is */
  /* [n_nodes * max_gpus] the free thousandths of each GPU, and scratch; NULL: all jobs get whole GPUs */
  uint16_t *gpu_milli, *future_milli;
  uint64_t *chosen_gpus; /* [n_nodes] if GPUs are shared: the sets of GPUs on the nodes `chosen` */
  /* [n_nodes] free CPUs and memory of each node, and scratch; `cpu_milli` NULL: they are not limited. CPUs are negative
     where jobs overlap, because some of them are suspended */
  int64_t *cpu_milli, *mem_mib, *future_cpu, *future_mem;
  uint32_t *chosen;   /* [n_nodes] the nodes that were chosen last, in the order of the shape */
  uint64_t *at_least; /* [(max_gpus + 1) * n_words] per number: the set of nodes with as many free GPUs or more */
  struct hr__slurm_running *running; /* [n_running] by increasing end, and else by job */
  uint32_t n_running;
  int64_t origin_us; /* the date of time 0, since batches begin at multiples of 30 seconds of the clock */
  /* per number of GPUs: the nodes that have fewer free GPUs now, in the order in which they get as many */
  struct hr__slurm_release *releases; /* [(max_gpus + 1) * n_nodes] */
  uint32_t *n_releases;               /* [max_gpus + 1] */
  bool has_releases;                  /* the lists are those of the running jobs */
  uint32_t *future;                   /* [n_nodes] scratch */
  uint64_t *full, *last;              /* [n_words] scratch sets */
};

/* Creates nodes without running jobs. `gpus` must stay valid. Returns false if memory is exhausted. */
bool hr__slurm_nodes_create(struct hr__slurm_nodes *nodes, struct hr_arena *arena, const uint32_t *gpus,
                            uint32_t n_nodes, int64_t origin_us);

/* Limits CPUs and memory, for at most `n_jobs` jobs, which then may have no GPUs. The caller then sets `cpu_milli` and
   `mem_mib`. Returns false if memory is exhausted. */
bool hr__slurm_nodes_limit(struct hr__slurm_nodes *nodes, struct hr_arena *arena, uint32_t n_jobs);

/* Lets jobs share GPUs. The nodes must be limited and without running jobs. Returns false if memory is exhausted. */
bool hr__slurm_nodes_share(struct hr__slurm_nodes *nodes, struct hr_arena *arena);

/* Returns the set of the first GPUs of a node that have room for a job of a shape now, if it fits there. */
uint64_t hr__slurm_gpus_on(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint32_t node,
                           uint32_t gpus);

/* The memory for the nodes of a running job, in words of 32 bits: a number for each, and a set of GPUs if they are
   shared. */
static inline size_t hr__slurm_words(const struct hr__slurm_nodes *nodes, uint32_t n_nodes) {
  return (size_t)n_nodes * (nodes->gpu_milli ? 3u : 1u);
}

/* Chooses nodes of a set for a job on the free GPUs of now. Reduces the set to them, and writes them to `chosen` in the
   order of the shape. Returns false, and leaves the set, if the job does not fit. */
bool hr__slurm_select_now(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set);

/* Returns whether hr__slurm_select_now would find nodes for the job. */
bool hr__slurm_fits_now(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set);

/* Finds when and where a job could start on nodes of a set. Reduces the set to the chosen nodes. Returns false if it
   could not start even without the running jobs. */
bool hr__slurm_select(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                      int64_t *start_us);

/* Returns the time at which enough running jobs of a set have ended for a job, at their limits: on no subset can it
   start earlier, except now. HR_NEVER_US: it never can. */
int64_t hr__slurm_earliest(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set);

/* Treats the GPUs of running job number `index` as free (`free` true), or as used again. */
void hr__slurm_nodes_lend(struct hr__slurm_nodes *nodes, uint32_t index, bool free);

/* Hides `n` running jobs: `hidden` [n] are their numbers, ascending. `copy` [n_running] receives the list of running
   jobs. hr__slurm_nodes_show ends this; no job may be added or removed before. */
void hr__slurm_nodes_hide(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          struct hr__slurm_running *copy);
void hr__slurm_nodes_show(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          const struct hr__slurm_running *copy);

/* The GPUs of a running job on its node number `index`; 0 if GPUs are not shared. */
uint64_t hr__slurm_gpus_of(const struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running,
                           uint32_t index);

/* Moves the end of a running job. */
void hr__slurm_nodes_postpone(struct hr__slurm_nodes *nodes, uint32_t job, int64_t by_us);

/* The time between the limit of a job and its forced end: KillWait. */
#define HR__SLURM_KILL_WAIT_US (30 * HR_SECOND_US)

/* Adds a job that starts on the nodes `chosen`, with the GPUs `chosen_gpus` if they are shared. `at` is memory of
   hr__slurm_words for a copy of them. Returns its entry, valid until the
   next change; `over_us` is KillWait. hr__slurm_nodes_remove removes a job, and returns the memory and the number of
   its nodes; NULL if it does not run. */
struct hr__slurm_running *hr__slurm_nodes_add(struct hr__slurm_nodes *nodes, uint32_t job,
                                              const struct hr__slurm_shape *shape, int64_t end_us, uint32_t *at);
uint32_t *hr__slurm_nodes_remove(struct hr__slurm_nodes *nodes, uint32_t job, uint32_t *n_nodes);

#endif
