/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_WAITING_H
#define HR_POLICIES_QUEUE_WAITING_H

/*
 * The waiting jobs, by what they ask for. Jobs that ask for the same are of one shape: if the first in order does not
 * fit, none does. Under an order in which ranks move (of tenants, of queues), a shape's jobs stand in lanes: within a
 * lane the order never changes, and the lanes are ordered by their first jobs.
 *
 * Entries that are handed out have the key by which jobs of all lanes and shapes compare; ties go by id, which is the
 * order of (submit, row).
 */

#include "base/hash.h"
#include "headroom/policy_kit.h"
#include "policies/kit/kinetic_tournament.h"
#include "policies/queue/quota/admission.h"

struct hr__subqueue {
  uint64_t name; /* what the order calls it */
  struct hr__shape *shape;
  struct hr_job_tree jobs;  /* by the key that they came with */
  struct hr_job_entry head; /* the first of them, likewise */
  struct hr_job_entry
      listed; /* as it stands in the shape's list: key of its head, head, least value; while not empty */
  struct hr__subqueue *next_same_key; /* the next lane of this name, in another shape */
  uint32_t walk;                      /* the last walk that came by */
  uint32_t active_at;                 /* its place in waiting->active_lanes while it is not empty */
  uint32_t refused;                   /* for passes: as of a shape */
  uint32_t place;                     /* in its shape's race, while it is in it */
  /* Where some are held back or preferred. */
  uint32_t owner;
  struct hr__subqueue *next_owned, *last_owned; /* others of its owner, while it is not empty */
  bool is_preferred;
  uint32_t parked_at;                    /* its place in waiting->parked + 1; 0: it is listed */
  struct hr__subqueue_group *group;      /* that it is parked in */
  struct hr__subqueue_group *speaks_for; /* the first of the groups that it stands for */
};

struct hr__shape {
  uint32_t gpus, kind;          /* kind: what else tells what its jobs ask for, hr__kind */
  uint32_t number;              /* its place in waiting->shapes */
  struct hr__subqueue *only;    /* where there are no lanes: the one that holds all */
  struct hr_job_tree subqueues; /* those that are not empty and not parked, as listed */
  struct hr_job_tree preferred; /* those among them that are preferred */
  struct hr_job_entry head;   /* the first job of all, or of the preferred while they alone count, while there is one */
  uint32_t active_at[2];      /* its place among those with such lanes, and with preferred ones, HR_NONE without */
  uint32_t refused;           /* for passes: the last one that found that nothing of it can start */
  struct hr__cursor *cursors; /* room for a walk */
  uint32_t cursors_capacity;
  struct hr__kinetic race;               /* instead of `lanes` where they race: of their first jobs */
  struct hr__subqueue_group *spoken_for; /* groups of its lanes that another lane stands for */
};

/* The key by which a job of a lane compares with those of other lanes, from the one it came with. */
typedef int64_t hr__full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* Under orders whose keys all grow with time, each at its own speed, or all change at once: what the key of a lane's
   job is monotone in. */
typedef struct hr__line hr__line_of(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry);

/* Who holds lanes back, and prefers some of those that are not. */
struct hr__admission {
  /* Whether the jobs of a lane are held back, whatever is free, and by what; none of its jobs passes before the first.
   */
  bool (*is_held)(void *self, const struct hr__subqueue *subqueue, struct hr__admission_limit *bar);
  int64_t (*room)(void *self, uint32_t place, enum hr__admission_limit_kind kind);
  bool (*is_preferred)(void *self, const struct hr__subqueue *subqueue); /* NULL: none is */
  uint32_t n_places, n_owners;
};

struct hr__waiting {
  struct hr_arena *arena;
  struct hr_tree_store *store;
  hr__full_key *full_key;      /* NULL: there are no lanes, and keys are as they came */
  struct hr__admission warden; /* all NULL: no lane is ever held back */
  void *self;                  /* of all these */
  struct hr__shape **shapes;   /* every shape seen */
  uint32_t *active;            /* those with waiting jobs, in no order */
  uint32_t n_shapes, n_active, shapes_capacity, active_capacity;
  struct hr__pair_map shape_numbers;      /* (gpus, accept class) */
  struct hr__subqueue **subqueues;        /* every lane seen */
  struct hr__subqueue **active_subqueues; /* those with waiting jobs, in no order */
  struct hr__subqueue **parked;           /* those that are in groups, in no order */
  uint32_t n_subqueues, n_active_subqueues, n_parked, subqueues_capacity, active_subqueues_capacity, parked_capacity;
  struct hr__pair_map part_numbers, subqueue_numbers, first_of_name; /* (name, shape); (name, 0) */
  uint32_t *subqueue_of;                                             /* by job, while it waits; NULL without lanes */
  int64_t *key_of;                                                   /* by job: the key it came with; likewise */
  uint32_t n_walks;
  bool keys_grow;       /* by themselves, and never shrink */
  bool failed;          /* out of memory while it was asked something */
  hr__line_of *line_of; /* NULL: lanes stand in lists; else they race: no walks, and none is held back */
  int64_t now_us;       /* as told last; only of races */
  /* Where some are held back or preferred. */
  bool preferred_only; /* the preferred alone count */
  uint32_t *aside;     /* shapes with preferred lanes; or, while they alone count, those of `active` before */
  uint32_t n_aside, aside_capacity;
  struct hr__subqueue **owned; /* by owner: the first of his lanes that are not empty */
  struct hr__subqueue_group **groups;
  uint32_t n_groups, groups_capacity;
  struct hr__pair_map group_numbers, class_numbers;
  struct hr_job_tree *closed; /* by bar, none in particular last: the groups that it holds back, by their needs */
};

/* What a job waits with. */
struct hr__queued_job {
  hr_job job;
  uint32_t gpus, kind;
  uint64_t subqueue; /* 0 where there are no lanes */
  uint64_t part;     /* what parts lanes of one name; likewise */
  int64_t key, value;
  uint32_t owner; /* of its lane; below warden.n_owners */
};

/* `full_key` NULL: no lanes; then `warden` must be NULL too. */
enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, const struct hr__admission *warden, void *self);
enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__queued_job *queued);
enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry);
/* The shape of jobs that ask for this, which has been seen. */
struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t kind);
/* Lanes of a name, or all lanes, have other keys now. */
enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name);
enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting);

/* Time goes on, as races see it; finds the first job of each shape. */
void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us);

/* Finds the first job of each shape that is not held back. Lanes that are held back are taken out of the way as far as
   they come first, and those whose keys have grown are listed anew; what comes behind is put in order when it is asked
   for. To be done after each start and each stop, and when time has gone on. */
enum hr_status hr__waiting_find_first(struct hr__waiting *waiting);
/* To be told of changes in what holds lanes back: a bar leaves more room, HR_NONE: some bar does; what an owner has is
   preferred no longer, or again; none of his lanes may need as much room as before. */
enum hr_status hr__waiting_loosen(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind);
enum hr_status hr__waiting_prefer_anew(struct hr__waiting *waiting, uint32_t owner);
enum hr_status hr__waiting_release(struct hr__waiting *waiting, uint32_t owner);
/* From now on the preferred lanes alone count, or all: for `active`, the shapes' heads, and hr__waiting_first. */
enum hr_status hr__waiting_prefer(struct hr__waiting *waiting, bool preferred_only);

/* Whether any job waits, held back or not. */
static inline bool hr__waiting_any(const struct hr__waiting *waiting) {
  return waiting->n_active > 0 || waiting->n_parked > 0;
}
/* The lane that the shape's first job is in, NULL where there are no lanes; and the one that is listed after it,
   preferred or not. */
struct hr__subqueue *hr__waiting_first_subqueue(const struct hr__waiting *waiting, const struct hr__shape *shape);
struct hr__subqueue *hr__waiting_next_subqueue(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue);

/* The shape of the first waiting job of all; NULL when none waits, or all are held back. */
struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting);
/* The shape's first job after `last` with a value of at most `bound`. With lanes: the first of all. Whoever is
   preferred does not matter; nor in walks. */
bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry);

/* How far a walk has come in a lane. */
struct hr__cursor {
  struct hr__subqueue *subqueue;
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
  struct hr__subqueue *next; /* the one after it, NULL when there is none; with its first job */
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
