/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_WAITING_H
#define HR_POLICIES_QUEUE_WAITING_H

/*
 * The waiting jobs, by request. Jobs with the same request have one shape: if the first one in order does not fit, none
 * does. Under orders in which ranks change (of tenants, of service queues) the jobs of a shape are split into
 * subqueues: the order within a subqueue never changes, and subqueues are ordered by their first jobs.
 *
 * Entries that functions return carry the key that compares jobs of all subqueues and shapes; ties are broken by id,
 * the order of (submit, row). All memory is in the arena.
 */

#include "base/hash.h"
#include "headroom/policy_kit.h"
#include "policies/kit/kinetic_tournament.h"
#include "policies/queue/quota/quota_tree.h"

/* Returns the list, or a larger copy if it has no room for one more; NULL: out of memory. */
static inline void *hr__roomy(struct hr_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t bytes) {
  return count < *capacity ? list : hr_arena_grown(arena, list, capacity, bytes);
}

struct hr__subqueue {
  uint64_t name; /* given by the order */
  struct hr__shape *shape;
  struct hr_job_tree jobs;  /* by the key that they were added with */
  struct hr_job_entry head; /* the first of them, with that key */
  struct hr_job_entry
      listed; /* its entry in the shape's list: full key of its head, head, minimum value; if not empty */
  struct hr__subqueue *next_same_key; /* the next subqueue of this name, in another shape */
  uint32_t walk;                      /* the last walk that entered it */
  uint32_t active_at;                 /* its index in waiting->active_subqueues if not empty */
  uint32_t refused;                   /* for passes: the last one that found that none of its jobs can start */
  uint32_t place;                     /* its contestant in the shape's tournament */
  /* For admission limits and preferred subqueues. */
  uint32_t owner;
  struct hr__subqueue *next_owned, *prev_owned; /* others of its owner, if not empty */
  bool is_preferred;
  uint32_t parked_at;                    /* its index in waiting->parked + 1; 0: it is listed */
  struct hr__subqueue_group *group;      /* the group in which it is parked */
  struct hr__subqueue_group *represents; /* the first of the groups that it represents */
};

struct hr__shape {
  uint32_t gpus, kind;          /* kind: see hr__kind */
  uint32_t number;              /* its index in waiting->shapes */
  struct hr__subqueue *only;    /* without subqueues: the one that has all jobs */
  struct hr_job_tree subqueues; /* those that are neither empty nor parked, as listed */
  struct hr_job_tree preferred; /* the preferred ones among them */
  struct hr_job_entry head; /* the first job of all, or of the preferred ones while only these count; if there is one */
  uint32_t active_at[2];    /* its index among shapes with subqueues, and with preferred ones; HR_NONE: none */
  uint32_t refused;         /* for passes: the last one that found that none of its jobs can start */
  struct hr__cursor *cursors; /* buffer of a walk */
  uint32_t cursors_capacity;
  struct hr__kinetic
      tournament; /* of the first jobs of the subqueues; replaces the list `subqueues` under orders with line_of */
  struct hr__subqueue_group *represented; /* groups of its subqueues that another one represents */
};

/* Returns the key by which a job compares with jobs of other subqueues, from the entry that it was added with. */
typedef int64_t hr__full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* Returns the line of a subqueue's job, under orders with keys that all grow linearly with time, or all change at once.
   The full key is monotone in its value. */
typedef struct hr__line hr__line_of(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* Admission: which subqueues are held back, and which of the others are preferred. */
struct hr__admission {
  /* Returns whether the jobs of a subqueue are held back, whatever is free, and by which limit. No job of it passes the
     first one. */
  bool (*is_held)(void *self, const struct hr__subqueue *subqueue, struct hr__admission_limit *limit);
  int64_t (*room)(void *self, uint32_t place, enum hr__admission_limit_kind kind);
  bool (*is_preferred)(void *self, const struct hr__subqueue *subqueue); /* NULL: none is preferred */
  uint32_t n_places, n_owners;
};

struct hr__waiting {
  struct hr_arena *arena;
  struct hr_tree_store *store;
  hr__full_key *full_key;         /* NULL: no subqueues, keys are used as added */
  struct hr__admission admission; /* is_held NULL: no subqueue is ever held back */
  void *self;                     /* argument of these functions */
  struct hr__shape **shapes;      /* every shape seen */
  uint32_t *active;               /* indices of shapes with waiting jobs, in no order */
  uint32_t n_shapes, n_active, shapes_capacity, active_capacity;
  struct hr__pair_map shape_numbers;      /* (gpus, kind) */
  struct hr__subqueue **subqueues;        /* every subqueue seen */
  struct hr__subqueue **active_subqueues; /* those with waiting jobs, in no order */
  struct hr__subqueue **parked;           /* those that are in groups, in no order */
  uint32_t n_subqueues, n_active_subqueues, n_parked, subqueues_capacity, active_subqueues_capacity, parked_capacity;
  struct hr__pair_map part_numbers, subqueue_numbers, first_of_name; /* (name, shape and partition); (name, 0) */
  uint32_t *subqueue_of; /* by job, while it waits; NULL without subqueues */
  int64_t *key_of;       /* by job: the key that it was added with; NULL without subqueues */
  uint32_t n_walks;
  bool keys_grow; /* keys change by themselves, and never decrease */
  bool failed;    /* memory ran out during a search */
  hr__line_of
      *line_of;   /* NULL: subqueues are listed; else they are in tournaments, with no walks and no admission limits */
  int64_t now_us; /* of the last hr__waiting_advance; tournaments only */
  /* For admission limits and preferred subqueues. */
  bool preferred_only; /* only preferred subqueues count */
  uint32_t *other;     /* shapes with preferred subqueues; the former `active` while only these count */
  uint32_t n_other, other_capacity;
  struct hr__subqueue **owned; /* by owner: the first of its subqueues that are not empty */
  struct hr__subqueue_group **groups;
  uint32_t n_groups, groups_capacity;
  struct hr__pair_map group_numbers, class_numbers;
  struct hr_job_tree
      *blocked; /* by limit (the last: no limit in particular): the groups that it blocks, by their need */
};

/* A job to be added. */
struct hr__queued_job {
  hr_job job;
  uint32_t gpus, kind;
  uint64_t subqueue; /* 0 without subqueues */
  uint64_t part;     /* the partition: splits subqueues of one name; 0 without subqueues */
  int64_t key, value;
  uint32_t owner; /* of its subqueue; below admission.n_owners */
};

static inline struct hr__shape *hr__active_shape(const struct hr__waiting *waiting, uint32_t i) {
  return waiting->shapes[waiting->active[i]];
}

static inline bool hr__entry_before(struct hr_job_entry a, struct hr_job_entry b) {
  return a.key != b.key ? a.key < b.key : a.job.id < b.job.id;
}

/* Initializes an empty queue for up to `n_jobs` jobs. `full_key` NULL: no subqueues; `admission` must be NULL then,
   too. */
enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, const struct hr__admission *admission, void *self);
enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__queued_job *queued);
enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry);
/* The keys of the subqueues of a name, or of all subqueues, have changed. */
enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name);
enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting);

/* Advances the time of tournaments and finds the first job of each shape. */
void hr__waiting_advance(struct hr__waiting *waiting, int64_t now_us);

/* Finds the first job of each shape that is not held back. First subqueues that are held back are parked, and those
   whose keys have grown are listed again; later subqueues are put in order on demand. To be called after each start and
   stop, and when time has passed. */
enum hr_status hr__waiting_find_first(struct hr__waiting *waiting);
/* Notifications of admission changes: a limit leaves more room (HR_NONE: some limit does); an owner's subqueues may
   have become preferred or not; none of the owner's subqueues may need as much room as before. */
enum hr_status hr__waiting_ease_limit(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind);
enum hr_status hr__waiting_update_preferred(struct hr__waiting *waiting, uint32_t owner);
enum hr_status hr__waiting_unpark_owner(struct hr__waiting *waiting, uint32_t owner);
/* Selects the preferred subqueues only, or all, for `active`, the shapes' heads and hr__waiting_first. */
enum hr_status hr__waiting_select_preferred(struct hr__waiting *waiting, bool preferred_only);

/* Returns whether any job waits, held back or not. */
static inline bool hr__waiting_any(const struct hr__waiting *waiting) {
  return waiting->n_active > 0 || waiting->n_parked > 0;
}

/* Finds the shape's first job after `last` with a value of at most `bound`; with subqueues the first of all. Ignores
   hr__waiting_select_preferred, as walks do. */
bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry);

/* The position of a walk in a subqueue. */
struct hr__cursor {
  struct hr__subqueue *subqueue;
  struct hr_job_entry at;    /* the current job, with the key that it was added with */
  struct hr_job_entry entry; /* the same job, with its full key */
};

/* A walk over all jobs of a shape in order. Jobs may be removed meanwhile, but keys must not change; one walk per shape
   at a time. The subqueues that it has entered are a heap by their next jobs; others are entered when their first job
   is next. */
struct hr__walk {
  struct hr__shape *shape;
  struct hr_job_entry entry; /* the current job */
  struct hr_job_entry came;  /* entry of the subqueue entered last, in the shape's list */
  struct hr__subqueue *next; /* the next subqueue to enter, with its first job; NULL: none */
  struct hr_job_entry next_entry;
  uint32_t n_cursors, number;
};
/* Begins a walk at the shape's first job or, without subqueues, after an entry (`after` not NULL). Returns false if
   no such job exists, or if memory is exhausted; then walk->shape is NULL. */
bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, const struct hr_job_entry *after,
                    struct hr__walk *walk);
/* Moves to the next job. Returns false at the end, or if memory is out; then walk->shape is NULL. */
bool hr__walk_next(struct hr__waiting *waiting, struct hr__walk *walk);
/* Returns whether a job from the current one on has a value of at most `bound`. */
bool hr__walk_has(const struct hr__walk *walk, int64_t bound);

/* Returns the shape of a request that has been seen. */
static inline struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  return waiting->shapes[hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, kind})];
}

/* Returns the shape of the first waiting job of all; NULL if none waits or all are held back. */
static inline struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    if (!first || hr__entry_before(shape->head, first->head)) first = shape;
  }
  return first;
}

/* Returns the subqueue of the shape's first job; NULL without subqueues. */
static inline struct hr__subqueue *hr__waiting_first_subqueue(const struct hr__waiting *waiting,
                                                              const struct hr__shape *shape) {
  return waiting->full_key ? waiting->subqueues[waiting->subqueue_of[shape->head.job.id]] : NULL;
}

/* Returns the subqueue that is listed after another one, preferred or not; NULL at the end. */
static inline struct hr__subqueue *hr__waiting_next_subqueue(const struct hr__waiting *waiting,
                                                             const struct hr__subqueue *subqueue) {
  struct hr_job_entry listed = subqueue->listed;
  bool found = hr_job_tree_next(&subqueue->shape->subqueues, listed.key, listed.job, INT64_MAX, &listed);
  return found ? waiting->subqueues[waiting->subqueue_of[listed.job.id]] : NULL;
}

/* Returns whether the job that the walk is at is held back by now. */
static inline bool hr__walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk) {
  struct hr__admission_limit limit;
  return waiting->admission.is_held &&
         waiting->admission.is_held(waiting->self, walk->shape->cursors[0].subqueue, &limit);
}

#endif
