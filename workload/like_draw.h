/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_DRAW_H
#define HR_WORKLOAD_LIKE_DRAW_H

/*
 * Jobs drawn from a model. Campaigns begin band by band (like_starts.c); each draws what its jobs have in common when
 * it begins (like_draw.c): its size and how many they are (like_lengths.c), how long they run (like_candidates.c); and
 * its jobs one after the other when their time comes. Those that have not submitted all of their jobs are all that is
 * kept (like_flow.c).
 */

#include "base/random.h"
#include "headroom/unstable/like.h"
#include "workload/like_scores.h"

enum { HR__LIKE_EDGES = 23, HR__LIKE_DAYS = 7 };

/* ---- When campaigns begin --------------------------------------------------------------------------- */

/* The model's week that the n-th is like: the first one `warm_weeks` times, then all of them over and over again. */
static inline uint32_t hr__week_of(const struct hr_like_model *model, uint32_t warm_weeks, int64_t n) {
  return n < warm_weeks ? 0 : (uint32_t)((n - warm_weeks) % model->n_weeks);
}

struct hr__starts {
  const struct hr_like_model *model;
  const struct hr_like_band *band;
  struct hr__stream arrivals, days;
  double per_day;      /* campaigns, on average */
  uint32_t warm_weeks; /* see hr__week_of */
  double day_score;
  double factors[HR__LIKE_DAYS]; /* of the week at hand */
  double units, passed;          /* campaigns that the week at hand should have, and should have had by now */
  double owed;                   /* part of one, of the weeks before */
  uint64_t left;                 /* campaigns that it still gets */
  int64_t hour;                  /* from the first week's start; that of next_s */
  double next_s;
};
/* The first start is drawn. */
void hr__starts_init(struct hr__starts *starts, const struct hr_like_model *model, uint32_t band, double per_day,
                     uint32_t warm_weeks, uint64_t seed);
void hr__starts_advance(struct hr__starts *starts);

/* ---- What they are made of -------------------------------------------------------------------------- */

struct hr__cell_draws {
  const struct hr_like_cell *cell;
  const struct hr__run_times *runs;
  const struct hr__score_map *scores; /* of its jobs: those of the weeks, by how many of them each has */
  double campaigns;                   /* a day */
  double end;       /* normal score of lengths below which are those of this cell and of those before */
  double due;       /* campaigns that should have come by now, beyond those that have */
  double from, to;  /* of the lengths of its size in the week at hand, the probabilities that its own are between */
  double weight;    /* of it, were it chosen now */
  double length_at; /* of the sequence that lengths are taken from */
  double excess[HR__LIKE_EDGES]; /* jobs of a score at most that of the edge, beyond what the normal law has */
};

struct hr__size_draws {
  const struct hr_like_size *size;
  struct hr__cell_draws cells[HR_LIKE_MOST_CELLS];
  double campaigns;               /* of all cells */
  double gpu_s;                   /* of a job, on average */
  double asks;                    /* sum of shares */
  double ask_at;                  /* of the sequence that asks are taken from */
  const struct hr_like_ask *last; /* asked for */
};

struct hr__band_draws {
  const struct hr_like_band *band;
  struct hr__run_times *runs;   /* hr__run_times_of the band */
  struct hr__score_map *scores; /* of the same shape */
  struct hr__size_draws sizes[HR_LIKE_MOST_SIZES];
  double campaigns; /* a day */
  double gpu_s;     /* a day */
  struct hr__score_map lengths;
  struct hr__starts starts;
  uint32_t n_campaigns;
};

struct hr__draws {
  const struct hr_like_model *model;
  uint64_t seed;
  double tempo; /* of the arrivals, for those of the model */
  uint32_t warm_weeks;
  struct hr__band_draws bands[HR_LIKE_MOST_BANDS];
  struct hr__score_map plain;
  double edges[HR__LIKE_EDGES]; /* normal scores */
  double *users, *tenants;      /* sums of shares, as the model has them */
};
enum hr_status hr__draws_init(struct hr__draws *draws, const struct hr_like_model *model, uint64_t seed);
void hr__draws_finish(struct hr__draws *draws);
/* Sets the tempo. Returns how many weeks pass before the first of the model's comes; times are counted from their
   begin. */
uint32_t hr__draws_begin(struct hr__draws *draws, double tempo);
/* GPU-seconds that come in a second, on average. */
double hr__draws_gpus(const struct hr__draws *draws);

struct hr__campaign {
  double next_s;
  uint32_t number, left;
  uint32_t user, tenant; /* HR_NONE: none */
  uint8_t band, size, cell;
  uint8_t pause; /* before its next job */
  bool begun;    /* a job of it was taken */
  const struct hr_like_ask *ask;
  double common;            /* part of the normal score that all jobs share */
  double own, shift;        /* what the other part is multiplied with; the week's */
  double level;             /* of the other part, what holds on */
  double last;              /* of the job before, that other part */
  double common_gap;        /* the campaign's own tempo: the same part of the scores of the times between submits */
  double limit_p;           /* probability of the limit's ratio; negative: no limit */
  struct hr__stream stream; /* of its jobs */
};
/* The next campaign of a band, from the start that has been drawn. */
void hr__campaign_draw(struct hr__draws *draws, uint32_t band, struct hr__campaign *campaign);

/* Where in the sequences a band begins, whose cells and maps are set. */
void hr__lengths_init(struct hr__band_draws *band, struct hr__stream *stream);
/* Sets size, cell and number of jobs of a campaign of that week of the model. */
void hr__length_draw(struct hr__draws *draws, uint32_t week, struct hr__stream *stream, struct hr__campaign *campaign);

void hr__candidates_init(struct hr__draws *draws);
/* Sets what the scores of a campaign's jobs have in common, its user's being `user`, and what they have not; of several
   draws that which brings what was drawn so far nearest to the model's laws. */
void hr__candidates_draw(struct hr__draws *draws, double user, struct hr__stream *stream,
                         struct hr__campaign *campaign);

struct hr__drawn_job {
  int64_t submit_ms, run_ms, limit_ms; /* -1: no limit */
  enum hr_outcome outcome;
};
/* The next job of a campaign, whose next time is moved on. */
void hr__job_draw(struct hr__draws *draws, struct hr__campaign *campaign, struct hr__drawn_job *job);

#endif
