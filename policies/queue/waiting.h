/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_WAITING_H
#define HR_POLICIES_QUEUE_WAITING_H

/*
 * The waiting jobs, by request. Jobs with the same request (number of GPUs and kind) have one shape: if the first job
 * of a shape does not fit, no job of the shape fits. Exception: with the backfill `strict`, all jobs have one shape,
 * whatever they request, because only the first job in order may start.
 *
 * The jobs of a shape are divided into subqueues in three cases: the keys of waiting jobs change (for example with the
 * usage of their tenant), there are quotas, or jobs of different priorities must be separate. The order of the jobs
 * within a subqueue never changes. The subqueues of a shape are sorted by their first jobs.
 *
 * Terms:
 *
 * - Entry: a job with its key and its value. A bounded search finds only jobs with a value of at most the bound.
 * - Full key: the current key of a job. Jobs of different subqueues and shapes are compared by full keys. Entries that
 *   functions return contain the full key. If two keys are equal, the job with the smaller id is first. Ids increase
 *   with (submit time, row of the trace); only replicas of services, which a run adds, have later ids.
 * - Held back: a subqueue is held back if an admission limit (a quota) does not admit its first job.
 * - Parked, listed: a subqueue that is found to be held back is parked. Other subqueues with jobs are listed, that is,
 *   in the list of their shape.
 * - Preferred: a subqueue is preferred if its first job is within the guarantee of its tenant. Jobs of preferred
 *   subqueues may start before other jobs.
 *
 * All memory is allocated in the arena.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"
#include "policies/kit/tournament.h"

/* ---- Limits of admission ---------------------------------------------------------------------------- */

/* The quota tree as admission limits for waiting jobs. Each node of the tree is called a place here, and has two
   limits. Place 0 is the root. A job must satisfy the limits of all places on the path from its tenant to the root. */

/* The two limits of a place: the maximum of all usage, and the guarantee plus what the place may borrow. */
enum hr__admission_limit_kind { HR__LIMIT_MAXIMUM, HR__LIMIT_BORROWING, HR__N_LIMIT_KINDS };

/* A limit that blocks a job, and the need of the job at this limit. The job requests `milli` thousandths of a GPU.
   Places between its tenant and this place can provide `spare` of them. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: not determined (see hr__quota_tree_find_limit); `milli` and `spare` are then 0 */
  enum hr__admission_limit_kind kind;
  int64_t milli, spare;
};

/* Returns the index of a limit among the limits of all places. */
static inline uint32_t hr__admission_limit_number(uint32_t place, enum hr__admission_limit_kind kind) {
  return HR__N_LIMIT_KINDS * place + (uint32_t)kind;
}
/* Returns how much room the job needs at the limit, in thousandths of a GPU. */
static inline int64_t hr__admission_limit_need(const struct hr__admission_limit *limit) {
  return limit->kind == HR__LIMIT_MAXIMUM ? limit->milli : limit->milli - limit->spare;
}

/* Amounts are in thousandths of a GPU; formulas are in quota.c. */
struct hr__quota_tree_node {
  uint32_t parent, depth; /* root: HR_NONE and 0 */
  int64_t subtree, kept;
  /* own usage, plus the part of each child's usage that exceeds the capacity that the child keeps */
  int64_t usage;
  int64_t held; /* all usage at the node and below it */
  int64_t borrow, max;
  double weight;
};

struct hr_quota_tree {
  struct hr__quota_tree_node *nodes;
  uint32_t n_nodes, n_tenants;
  uint32_t *leaf; /* [n_tenants + 1]: node of each tenant; the last element is for jobs without a tenant */
};

/* Follows the path from the tenant to the root. Returns the first place with a limit that prevents the tenant from
   using `milli` more now; HR_NONE: no limit does so, and `*limit` is not written. Otherwise writes the limit to
   `*limit`. If the need at the limit also depends on the usage of other tenants, the limit is written as not
   determined: its place is HR_NONE. */
uint32_t hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                   struct hr__admission_limit *limit);
/* Returns how much more usage a limit allows (its room), in thousandths of a GPU. Usage that is added at the place or
   below it never increases the room. Usage that is removed there never decreases it. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);

/* Returns the place of a tenant. HR_NONE represents jobs without a tenant. */
static inline uint32_t hr__quota_tree_place(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->leaf[tenant < tree->n_tenants ? tenant : tree->n_tenants];
}

/* Returns the number of places. */
static inline uint32_t hr__quota_tree_n_places(const struct hr_quota_tree *tree) {
  return tree->n_nodes;
}

/* Returns the parent of a place; HR_NONE for the root. */
static inline uint32_t hr__quota_tree_parent(const struct hr_quota_tree *tree, uint32_t place) {
  return tree->nodes[place].parent;
}

/* Returns whether the tenant keeps (does not lend) a part of its quota. If so, its usage changes its need at higher
   places (`spare`). */
static inline bool hr__quota_tree_keeps_capacity(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->nodes[hr__quota_tree_place(tree, tenant)].kept > 0;
}

/* ---- Waiting jobs ----------------------------------------------------------------------------------- */

/* A subqueue: waiting jobs of one shape that never change their relative order. */
struct hr__subqueue {
  uint64_t name; /* name of the subqueue, defined by the order */
  struct hr__shape *shape;
  struct hr_job_tree jobs;  /* sorted by the keys with which the jobs were added */
  struct hr_job_entry head; /* first job, with the key with which it was added */
  struct hr_job_entry
      /* entry of the subqueue in the list of the shape, valid if the subqueue is not empty: the first job, its full
         key, and the minimum of the values of all its jobs */
      listed;
  struct hr__subqueue *next_same_key; /* next subqueue with this name; NULL: none */
  uint32_t walk;                      /* number of the last walk that entered the subqueue (walks are counted) */
  uint32_t active_at;                 /* index in waiting->active_subqueues, if not empty */
  /* number of the last pass in which preemption tried the first job of the subqueue without success */
  uint32_t refused;
  uint32_t place; /* number of the subqueue in the tournament of the shape */
  /* For admission limits and preferred subqueues. */
  uint32_t owner;                               /* index of the tenant of its jobs (hr__quota_owner) */
  struct hr__subqueue *next_owned, *prev_owned; /* neighbours among the owner's subqueues that are not empty */
  bool is_preferred;
  uint32_t parked_at;                    /* index in waiting->parked + 1; 0: not parked */
  struct hr__subqueue_group *group;      /* the group in which the subqueue is parked */
  struct hr__subqueue_group *represents; /* first of the groups that the subqueue represents */
};

/* A range of bounds of preemption, [from, to), for which a set of nodes may have more room than before. See
   policies/queue/preemption/ranked.c; `nodes` is a set as returned by hr__node_set_of. */
struct hr__eased {
  int64_t from, to;
  uint64_t nodes;
};

/* The refusals of jobs of a shape, in preemption by an order that ranks running jobs
   (policies/queue/preemption/ranked.c). Jobs with a bound of `bound` or more were refused, and would be refused again,
   except those with a bound in `last` or `earlier`. */
struct hr__refusals {
  int64_t bound;
  /* last: the bounds for which there may be more room since the last update, and the nodes with this room. earlier:
     the same for the time from the refusals to the last update */
  struct hr__eased last, earlier;
  uint32_t needed; /* GPUs that a node must have so that the jobs may use it; 0: not determined */
  uint32_t pass;   /* number of the last pass in which the other members were updated */
};

/* The position of a shape in the walk of ranked.c: jobs of the shape before this position need not be tried. */
struct hr__ranked_place {
  struct hr_job_entry entry;
  int64_t bound;         /* bound of the job, if has_bound */
  bool has_bound, ended; /* ended: no further job of the shape needs to be tried */
  uint64_t n_eased;      /* the position is valid while preemptor->n_eased has this value */
};

/* The waiting jobs with the same request; with the backfill `strict`, all waiting jobs. */
struct hr__shape {
  uint32_t gpus, kind;          /* kind: see hr__kind; both 0 with the backfill `strict` */
  uint32_t number;              /* index in waiting->shapes */
  uint32_t gain;                /* index in gains->last (struct hr__gains); 0: not determined */
  uint64_t unfit;               /* gains->count when the shape was last found not to fit; 0: never */
  struct hr__subqueue *only;    /* without subqueues: the subqueue of all jobs */
  struct hr_job_tree subqueues; /* subqueues that have jobs and are not parked, sorted by their entries */
  struct hr_job_tree preferred; /* preferred subqueues among them */
  /* the first job of the listed subqueues; if only preferred subqueues are selected, the first job of these. Undefined
     if no such job exists */
  struct hr_job_entry head;
  /* [0]: index in the list of shapes with listed subqueues; [1]: in that of shapes with preferred subqueues; HR_NONE:
     not in the list */
  uint32_t active_at[2];
  uint32_t refused; /* number of the last pass in which preemption tried the first job of the shape without success */
  struct hr__refusals refusals;
  struct hr__ranked_place place;
  struct hr__cursor *cursors; /* cursors of the current walk */
  uint32_t cursors_capacity;
  /* used instead of `subqueues` if waiting->line_of is not NULL: the first jobs of the subqueues */
  struct hr__kinetic tournament;
  struct hr__subqueue_group *represented; /* groups of the shape that have a representative */
};

/* Returns the full key of a job. `entry` contains the key with which the job was added. */
typedef int64_t hr__full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* Returns the line of a job (struct hr__line). Used for orders in which the keys of all jobs change: continuously, as a
   linear function of time, or all at the same moment. The job with the largest value of its line has the smallest full
   key. */
typedef struct hr__line hr__line_of(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* The functions that determine which subqueues are held back, and which are preferred. */
struct hr__admission {
  /* If a limit blocks the first job of a subqueue, whatever capacity is free, writes the limit and returns true. In
     this case no other job of the subqueue may start either. */
  bool (*is_held)(void *self, const struct hr__subqueue *subqueue, struct hr__admission_limit *limit);
  int64_t (*room)(void *self, uint32_t place, enum hr__admission_limit_kind kind); /* see hr__quota_tree_room */
  /* Returns whether the subqueue is preferred. NULL: none is. */
  bool (*is_preferred)(void *self, const struct hr__subqueue *subqueue);
  uint32_t n_places, n_owners; /* numbers of places of the quota tree, and of owners of subqueues */
};

/* The waiting jobs of all shapes. */
struct hr__waiting {
  struct hr_arena *arena;
  struct hr_tree_store *store;
  hr__full_key *full_key;         /* NULL: no subqueues, and keys are used as added */
  struct hr__admission admission; /* is_held NULL: no subqueue is held back */
  void *self;                     /* first argument of full_key, line_of and the functions of `admission` */
  struct hr__shape **shapes;      /* all shapes that ever had jobs */
  /* indices of the shapes with listed subqueues (if `preferred_only`, with preferred subqueues), in no order */
  uint32_t *active;
  uint32_t n_shapes, n_active, shapes_capacity, active_capacity;
  struct hr__pair_map shape_numbers;      /* index of the shape of (gpus, kind) */
  struct hr__subqueue **subqueues;        /* all subqueues that ever had jobs */
  struct hr__subqueue **active_subqueues; /* subqueues with waiting jobs, in no order */
  struct hr__subqueue **parked;           /* subqueues that are parked, in no order */
  uint32_t n_subqueues, n_active_subqueues, n_parked, subqueues_capacity, active_subqueues_capacity, parked_capacity;
  /* part_numbers: index of a partition. subqueue_numbers: index of the subqueue with a certain (name, shape and
     partition). first_of_name: index of the first subqueue with a certain name; the key is (name, 0) */
  struct hr__pair_map part_numbers, subqueue_numbers, first_of_name;
  uint32_t *subqueue_of; /* by job: index of its subqueue while it waits; NULL without subqueues */
  int64_t *key_of;       /* by job: key with which it was added; NULL without subqueues */
  uint32_t n_walks;
  bool keys_grow; /* keys change with time, and never decrease */
  bool failed;    /* memory was exhausted during a search */
  /* if not NULL, subqueues are in tournaments; walks and admission limits are then not supported */
  hr__line_of *line_of;
  int64_t now_us; /* current time, for tournaments and for the keys of the order `wfp3` */
  /* For admission limits and preferred subqueues. */
  bool preferred_only; /* only preferred subqueues are selected */
  /* the list that is not selected. Normally: the shapes with preferred subqueues. If `preferred_only`: the shapes with
     listed subqueues */
  uint32_t *other;
  uint32_t n_other, other_capacity;
  struct hr__subqueue **owned; /* by owner: the first subqueue in the list of its subqueues that are not empty */
  struct hr__subqueue_group **groups;
  uint32_t n_groups, groups_capacity;
  struct hr__pair_map group_numbers, class_numbers;
  struct hr_job_tree
      /* by limit: tree of the groups that the limit blocks, sorted by need. The last element is for groups with a limit
         that is not determined */
      *blocked;
};

/* A job to be added. */
struct hr__queued_job {
  hr_job job;
  uint32_t gpus, kind;
  uint64_t subqueue; /* name of its subqueue; 0 without subqueues */
  /* partition: jobs for which the order returns the same name of a subqueue are in different subqueues if their
     partitions differ. Consists of the tenant (0 without quotas) and the priority (0 unless priorities must be
     separate) */
  uint64_t part;
  int64_t key, value;
  uint32_t owner; /* owner of its subqueue: less than admission.n_owners */
};

/* Returns the i-th shape of the list `active`. */
static inline struct hr__shape *hr__active_shape(const struct hr__waiting *waiting, uint32_t i) {
  return waiting->shapes[waiting->active[i]];
}

/* Returns whether entry a precedes entry b in order. */
static inline bool hr__entry_before(struct hr_job_entry a, struct hr_job_entry b) {
  return a.key != b.key ? a.key < b.key : a.job.id < b.job.id;
}

/* The functions below that return enum hr_status return HR_NO_MEMORY if memory is exhausted, and HR_INTERNAL if a job
   or subqueue is not in the list in which it should be.

   Initializes an empty queue for up to `n_jobs` jobs. If `full_key` is NULL, subqueues are not used, and `admission`
   must also be NULL. */
enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, const struct hr__admission *admission, void *self);
/* Adds a job. */
enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__queued_job *queued);
/* Removes a job. Without subqueues, `entry` must have the key with which the job was added. */
enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry);
/* hr__waiting_rerank updates the lists after the keys of all subqueues with one name have changed;
   hr__waiting_rerank_all does so after all keys have changed. */
enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name);
enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting);

/* Sets waiting->now_us. With tournaments, also advances their time, and determines the first job of each shape
   again. */
void hr__waiting_advance(struct hr__waiting *waiting, int64_t now_us);

/* Determines, for each shape, the first job that is not held back. If the first subqueue of a shape is held back, it is
   parked; if its key has grown, it is listed again with the new key. The other subqueues of a shape are not updated
   until a search needs them. Call this after each start and stop, and after time has passed. */
enum hr_status hr__waiting_find_first(struct hr__waiting *waiting);
/* Notifies the queue that there is more room at a limit. If `place` is HR_NONE, `kind` is ignored, and all groups of
   subqueues with a limit that is not determined are listed again. */
enum hr_status hr__waiting_ease_limit(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind);
/* Notifies the queue that the subqueues of an owner may have become preferred, or may no longer be preferred. */
enum hr_status hr__waiting_update_preferred(struct hr__waiting *waiting, uint32_t owner);
/* Notifies the queue that the need of an owner's subqueues may have decreased: lists these subqueues again. */
enum hr_status hr__waiting_unpark_owner(struct hr__waiting *waiting, uint32_t owner);
/* Selects preferred subqueues only, or all subqueues. The selection affects `active`, the first jobs of shapes and
   hr__waiting_first. */
enum hr_status hr__waiting_select_preferred(struct hr__waiting *waiting, bool preferred_only);

/* Returns whether any job waits, including jobs that are held back. */
static inline bool hr__waiting_any(const struct hr__waiting *waiting) {
  return waiting->n_active > 0 || waiting->n_parked > 0;
}

/* Finds the first job of the shape after `last` with a value of at most `bound`, and writes it to `*entry`. Returns
   false if there is no such job. With subqueues, `last` is ignored, so the search begins with the first job of the
   shape. Jobs that are held back are not found. Jobs of all other subqueues are found, even if only preferred subqueues
   are selected. If memory is exhausted, sets waiting->failed. */
bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry);

/* A cursor: the position of a walk in one subqueue. */
struct hr__cursor {
  struct hr__subqueue *subqueue;
  struct hr_job_entry at;    /* current job, with the key with which it was added */
  struct hr_job_entry entry; /* current job, with its full key */
};

/* A walk over all jobs of a shape that are not held back, in order, even if only preferred subqueues are selected. Jobs
   may be removed during the walk, but keys must not change. A shape can have only one walk at a time. A walk enters a
   subqueue when the first job of the subqueue is the next job of the walk. The cursors of the entered subqueues are in
   a heap, sorted by their current jobs. */
struct hr__walk {
  struct hr__shape *shape;
  struct hr_job_entry entry;        /* current job, with its full key */
  struct hr_job_entry last_entered; /* `listed` of the subqueue that find_next_subqueue visited last */
  struct hr__subqueue *next;        /* next subqueue to enter; NULL: none */
  struct hr_job_entry next_entry;   /* first job of `next`, with its full key */
  uint32_t n_cursors, number;       /* cursors in shape->cursors; number of the walk */
};
/* Begins a walk at the first job of the shape. Without subqueues, and if `after` is not NULL, the walk begins at the
   first job after the entry `after`. Returns false if there is no such job. If memory is exhausted, returns false and
   sets walk->shape to NULL. */
bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, const struct hr_job_entry *after,
                    struct hr__walk *walk);
/* Moves the walk to the next job. Returns false after the last job. If memory is exhausted, returns false and sets
   walk->shape to NULL. */
bool hr__walk_next(struct hr__waiting *waiting, struct hr__walk *walk);
/* Returns whether the current job, or a job after it, has a value of at most `bound`. */
bool hr__walk_has(const struct hr__walk *walk, int64_t bound);

/* Returns the shape of a request. A job with this request must have been added before. */
static inline struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  return waiting->shapes[hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, kind})];
}

/* Returns the shape in the list `active` with the first job in order; NULL: the list is empty. */
static inline struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    if (!first || hr__entry_before(shape->head, first->head)) first = shape;
  }
  return first;
}

/* Returns the subqueue of a waiting job. Call this only with subqueues. */
static inline struct hr__subqueue *hr__subqueue_of_job(const struct hr__waiting *waiting, hr_job job) {
  return waiting->subqueues[waiting->subqueue_of[job.id]];
}

/* Returns the subqueue after `subqueue` in the list of all listed subqueues of its shape; NULL: `subqueue` is the last
   one. */
static inline struct hr__subqueue *hr__waiting_next_subqueue(const struct hr__waiting *waiting,
                                                             const struct hr__subqueue *subqueue) {
  struct hr_job_entry listed = subqueue->listed;
  bool found = hr_job_tree_next(&subqueue->shape->subqueues, listed.key, listed.job, INT64_MAX, &listed);
  return found ? hr__subqueue_of_job(waiting, listed.job) : NULL;
}

/* ---- Subqueues (subqueues.c) --------------------------------------------------------------------------- */

/* The subqueues of a shape. A subqueue with jobs is either in the lists of its shape, or parked in a group while an
   admission limit blocks it. subqueues.c explains groups and their representatives. Only waiting.c and subqueues.c use
   the declarations below. */

/* Returns whether the subqueues of each shape are in a tournament instead of a list. */
static inline bool hr__has_tournament(const struct hr__waiting *waiting) {
  return waiting->line_of != NULL;
}

/* Returns the list of the shape that is in use: all listed subqueues, or only the preferred ones. */
static inline const struct hr_job_tree *hr__shape_list(const struct hr__waiting *waiting,
                                                       const struct hr__shape *shape) {
  return waiting->preferred_only ? &shape->preferred : &shape->subqueues;
}

/* A group: parked subqueues of one shape that are blocked by the same limit and have the same need. */
struct hr__subqueue_group {
  struct hr__shape *shape;
  struct hr__admission_limit limit;
  uint32_t number; /* index in waiting->groups */
  /* of_preferred: its subqueues are preferred. is_blocked: the group is in the tree waiting->blocked of its limit */
  bool of_preferred, is_blocked;
  struct hr_job_tree subqueues;                /* parked subqueues, sorted by their entries */
  struct hr__subqueue *representative;         /* subqueue that is considered for the whole group; NULL: none */
  struct hr__subqueue_group *next_represented; /* next group with the same representative */
  struct hr__subqueue_group *next_in_shape, *prev_in_shape; /* neighbours in shape->represented */
};

/* ---- Parking -------------------------------------------------------------------------------------- */

/* Removes a parked subqueue from its group. */
enum hr_status hr__subqueue_leave(struct hr__waiting *waiting, struct hr__subqueue *subqueue);
/* Changes the entry of a parked subqueue to `now`. The first job of the subqueue must be the same as before. */
enum hr_status hr__subqueue_relist_parked(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          struct hr_job_entry now);
/* Updates the groups that a subqueue represents, after its entry has changed. */
enum hr_status hr__subqueue_check_represented(struct hr__waiting *waiting, struct hr__subqueue *subqueue);

/* Returns whether the limit leaves enough room for the need of the group. */
static inline bool hr__group_has_room(const struct hr__waiting *waiting, const struct hr__subqueue_group *group) {
  const struct hr__admission_limit *limit = &group->limit;
  return limit->place != HR_NONE &&
         waiting->admission.room(waiting->self, limit->place, limit->kind) >= hr__admission_limit_need(limit);
}

/* Returns whether `limit`, which blocks one subqueue of the group, also blocks all its other subqueues. Two conditions
   must be true: the need at `limit` equals the need of the group, and `limit` is at the place of the group's limit or
   closer to the root. On a path, places closer to the root have smaller numbers. */
static inline bool hr__group_is_held(const struct hr__subqueue_group *group, const struct hr__admission_limit *limit) {
  return limit->place != HR_NONE && limit->place <= group->limit.place && limit->milli == group->limit.milli &&
         limit->spare == group->limit.spare;
}

/* If `is_in`, adds the shape to the list of shapes with listed subqueues, else removes it from the list. With
   `of_preferred`, the list is that of shapes with preferred subqueues. */
void hr__shape_enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in);
/* Determines the first job of the shape. */
void hr__shape_find_head(const struct hr__waiting *waiting, struct hr__shape *shape);
/* Parks a listed subqueue that the limit blocks. */
enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                 const struct hr__admission_limit *limit);
/* For each group of the shape that has a representative and a limit with enough room: moves all its subqueues to the
   lists of the shape, so that a search finds them. */
enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape);

/* Updates the shape after its lists have changed. */
static inline void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  hr__shape_enrol(waiting, shape, false,
                  (hr__has_tournament(waiting) ? shape->tournament.count : shape->subqueues.count) > 0);
  if (waiting->admission.is_preferred) hr__shape_enrol(waiting, shape, true, shape->preferred.count > 0);
  hr__shape_find_head(waiting, shape);
}

/* Removes a subqueue from the lists of its shape. */
static inline enum hr_status hr__subqueue_unlist(struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_remove(&shape->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (!subqueue->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, subqueue->listed.key, subqueue->listed.job) ? HR_OK : HR_INTERNAL;
}

/* Inserts a subqueue into the lists of its shape. */
static inline enum hr_status hr__subqueue_list(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_insert(&shape->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  if (subqueue->is_preferred && !hr_job_tree_insert(&shape->preferred, subqueue->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

#endif
