/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_WAITING_H
#define HR_POLICIES_WAITING_H

/*
 * The waiting jobs, by what they ask for. Jobs that ask for the same are of one shape: if the first in order does not
 * fit, none does. Under an order in which ranks move (of tenants, of queues), a shape's jobs stand in lanes: within a
 * lane the order never changes, and the lanes are ordered by their first jobs.
 *
 * Entries that are handed out have the key by which jobs of all lanes and shapes compare; ties go by id, which is the
 * order of (submit, row).
 */

#include "policies/kinetic.h"
#include "policies/pair_map.h"

struct hr__lane {
  uint64_t name;                              /* what the order calls it */
  uint32_t parked_at;                         /* its place in waiting->parked + 1; 0: it is not held back */
  uint32_t parked_for;                        /* whose stops may let it go, HR_NONE: anybody's */
  struct hr__lane *next_parked, *last_parked; /* others that wait for the same, while it is held back */
  struct hr__shape *shape;
  struct hr_job_tree jobs;  /* by the key that they came with */
  struct hr_job_entry head; /* the first of them, likewise */
  struct hr_job_entry
      listed;                /* as it stands in the shape's list: key of its head, head, least value; while not empty */
  struct hr__lane *namesake; /* the next lane of this name, in another shape */
  uint32_t walk;             /* the last walk that came by */
  uint32_t active_at;        /* its place in waiting->active_lanes while it is not empty */
  uint32_t refused;          /* for passes: as of a shape */
  uint32_t place;            /* in its shape's race, while it is in it */
};

struct hr__shape {
  uint32_t gpus, accept_class;
  uint32_t number;            /* its place in waiting->shapes */
  struct hr__lane *only;      /* where there are no lanes: the one that holds all */
  struct hr_job_tree lanes;   /* those that are not empty, as listed */
  struct hr_job_entry head;   /* the first job of all, while there is one */
  uint32_t active_at;         /* its place in waiting->active, HR_NONE while empty */
  uint32_t refused;           /* for passes: the last one that found that nothing of it can start */
  struct hr__cursor *cursors; /* room for a walk */
  uint32_t cursors_capacity;
  struct hr__kinetic race; /* instead of `lanes` where they race: of their first jobs */
};

/* The key by which a job of a lane compares with those of other lanes, from the one it came with. */
typedef int64_t hr__full_key(void *self, const struct hr__lane *lane, struct hr_job_entry entry);

/* Under orders whose keys all grow with time, each at its own speed, or all change at once: what the key of a lane's
   job is monotone in. */
typedef struct hr__line hr__line_of(void *self, const struct hr__lane *lane, struct hr_job_entry entry);

/* Whether the jobs of a lane are held back, whatever is free; `*until`: whose stops alone may change that, HR_NONE:
   anybody's. */
typedef bool hr__is_held(void *self, const struct hr__lane *lane, uint32_t *until);

struct hr__waiting {
  struct hr_arena *arena;
  struct hr_tree_store *store;
  hr__full_key *full_key;    /* NULL: there are no lanes, and keys are as they came */
  hr__is_held *is_held;      /* NULL: none ever is */
  void *self;                /* of both */
  struct hr__shape **shapes; /* every shape seen */
  uint32_t *active;          /* those with waiting jobs, in no order */
  uint32_t n_shapes, n_active, shapes_capacity, active_capacity;
  struct hr__pair_map shape_numbers; /* (gpus, accept class) */
  struct hr__lane **lanes;           /* every lane seen */
  struct hr__lane **active_lanes;    /* those with waiting jobs, in no order */
  struct hr__lane **parked;          /* those that are held back, in no order */
  struct hr__lane **parked_for;      /* by whose stops may let them go: the first of a list; anybody's last */
  uint32_t n_stoppers;
  uint32_t n_lanes, n_active_lanes, n_parked, lanes_capacity, active_lanes_capacity, parked_capacity;
  struct hr__pair_map part_numbers, lane_numbers, first_of_name; /* (name, shape); (name, 0) */
  uint32_t *lane_of;                                             /* by job, while it waits; NULL without lanes */
  int64_t *key_of;                                               /* by job: the key it came with; likewise */
  uint32_t n_walks;
  bool keys_grow;       /* by themselves, and never shrink */
  bool failed;          /* out of memory while it was asked something */
  hr__line_of *line_of; /* NULL: lanes stand in lists; else they race: no walks, and none is held back */
  int64_t now_us;       /* as told last; only of races */
};

/* What a job waits with. */
struct hr__ticket {
  hr_job job;
  uint32_t gpus, accept_class;
  uint64_t lane; /* 0 where there are no lanes */
  uint64_t part; /* what parts lanes of one name; likewise */
  int64_t key, value;
};

/* `full_key` NULL: no lanes; then `is_held` must be NULL too. `n_stoppers`: who may be waited for, 0 to n_stoppers - 1.
 */
enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, hr__is_held *is_held, uint32_t n_stoppers, void *self);
enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__ticket *ticket);
enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry);
/* The shape of jobs that ask for this, which has been seen. */
struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t accept_class);
/* Lanes of a name, or all lanes, have other keys now. */
enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name);
enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting);
/* Keys have grown by themselves: finds the first job of each shape. What comes behind it is put in order when it is
   asked for. */
enum hr_status hr__waiting_look_again(struct hr__waiting *waiting);

/* Time goes on, as races see it; finds the first job of each shape. */
void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us);

/* Takes lanes that are held back out of the way as far as they are first of their shapes, and puts all back. To be done
   after each start and each stop. */
enum hr_status hr__waiting_park(struct hr__waiting *waiting);
enum hr_status hr__waiting_unpark(struct hr__waiting *waiting);
/* Likewise those alone that a stop of one of `stopper` may let go. */
enum hr_status hr__waiting_unpark_for(struct hr__waiting *waiting, uint32_t stopper);

/* Whether any job waits, held back or not. */
static inline bool hr__waiting_any(const struct hr__waiting *waiting) {
  return waiting->n_active > 0 || waiting->n_parked > 0;
}
/* The lane that the shape's first job is in, NULL where there are no lanes; and the one that is listed after it. */
struct hr__lane *hr__waiting_first_lane(const struct hr__waiting *waiting, const struct hr__shape *shape);
struct hr__lane *hr__waiting_next_lane(const struct hr__waiting *waiting, const struct hr__lane *lane);

/* The shape of the first waiting job of all; NULL when none waits, or all are held back. */
struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting);
/* The shape's first job after `last` with a value of at most `bound`. With lanes: the first of all. */
bool hr__waiting_next(struct hr__waiting *waiting, const struct hr__shape *shape, struct hr_job_entry last,
                      int64_t bound, struct hr_job_entry *entry);

/* How far a walk has come in a lane. */
struct hr__cursor {
  struct hr__lane *lane;
  struct hr_job_entry at;    /* the job it is at, with the key that it came with */
  struct hr_job_entry entry; /* likewise, as handed out */
};

/* A walk down all jobs of a shape in order, some of which may be removed while it goes. Keys must not change
   meanwhile; one walk of a shape at a time. The lanes that it has come into are a heap by their next jobs; further ones
   join when the first of their jobs is next. */
struct hr__walk {
  struct hr__shape *shape;
  struct hr_job_entry entry; /* the job it is at */
  struct hr_job_entry came;  /* where in the shape's list of lanes the last one was that it came into */
  struct hr__lane *next;     /* the one after it, NULL when there is none; with its first job */
  struct hr_job_entry next_entry;
  uint32_t n_cursors, number;
};
/* False: out of memory. */
bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, struct hr__walk *walk);
/* Likewise from behind an entry on, where there are no lanes; false also when there is no job: `shape` is as below. */
bool hr__walk_begin_after(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last,
                          struct hr__walk *walk);
/* False at the end of it, or when out of memory: then `shape` is NULL. */
bool hr__walk_on(struct hr__waiting *waiting, struct hr__walk *walk);
/* Whether a job from where it is on has a value of at most `bound`. */
bool hr__walk_has(const struct hr__walk *walk, int64_t bound);
/* Whether the job that it is at is held back by now. */
bool hr__walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk);

static inline struct hr__shape *hr__active_shape(const struct hr__waiting *waiting, uint32_t i) {
  return waiting->shapes[waiting->active[i]];
}
static inline bool hr__entry_before(struct hr_job_entry a, struct hr_job_entry b) {
  return a.key != b.key ? a.key < b.key : a.job.id < b.job.id;
}

#endif
