/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which size and cell a campaign is of, and how many jobs it has. A sample of few long campaigns strays far from the
 * law that it is drawn from, and so would run times and the load: one of 118 jobs may be 6 % of all that ask for two
 * GPUs, and comes once. So what has come less often than it should is the likelier to come, and no kind is further
 * behind or ahead than by half a campaign and what comes of it in six hours; within these chance stays, as long
 * campaigns do come together. Lengths are from a sequence that fills the interval evenly, steps of the golden ratio.
 */

#include "workload/like_draw.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { HALVINGS = 40 };
static const double length_step = 0.6180339887498949, memory_days = 0.25, least_p = 1e-12;
static const double most_score = 8, beyond_all = 12; /* the latter even of a week whose scores are shifted by 4 */
static const double overdue = 1e6;                   /* what one that is weighs, so that it comes next */

/* The score that a map takes to `p`. */
static double score_at(const struct hr__score_map *map, double p) {
  double low = -most_score, high = most_score;
  for (uint32_t i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (hr__score_map_p(map, middle) < p)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

static void init_size(struct hr__size_draws *size, const struct hr__score_map *lengths, struct hr__stream *stream) {
  double campaigns = 0;
  for (uint32_t k = 0; k < size->size->n_cells; k++) {
    struct hr__cell_draws *cell = &size->cells[k];
    campaigns += cell->campaigns;
    cell->end = campaigns < size->campaigns ? score_at(lengths, campaigns / size->campaigns) : beyond_all;
    cell->due = hr__stream_uniform(stream) - 0.5;
    cell->length_at = hr__stream_uniform(stream);
  }
}

/* What is due of all cells together is 0. */
void hr__lengths_init(struct hr__band_draws *band, struct hr__stream *stream) {
  double due = 0, cells = 0;
  for (uint32_t i = 0; i < band->band->n_sizes; i++) {
    struct hr__size_draws *size = &band->sizes[i];
    init_size(size, &band->lengths, stream);
    for (uint32_t k = 0; k < size->size->n_cells; k++)
      if (size->cells[k].campaigns > 0) {
        due += size->cells[k].due;
        cells++;
      }
  }
  for (uint32_t i = 0; i < band->band->n_sizes; i++)
    for (uint32_t k = 0; k < band->sizes[i].size->n_cells; k++) band->sizes[i].cells[k].due -= due / cells;
}

/* More is due of a cell, by the share of campaigns that are of it, and so it weighs more. `memory`: campaigns. */
static void make_due(struct hr__cell_draws *cell, double share, double memory) {
  double bound = 0.5 + share * memory;
  cell->due += share;
  cell->weight = fmax(0, share + cell->due / fmax(1, memory));
  if (cell->due <= -bound) cell->weight = 0;
  if (cell->due > bound) cell->weight = cell->due * overdue;
}

/* So of every cell that has campaigns, as many as the week has. Returns the sum of the weights, which is above 0: what
   is due of all of them is one campaign. */
static double make_all_due(const struct hr__draws *draws, struct hr__band_draws *band, double shift) {
  double sum = 0, memory = memory_days * band->campaigns;
  for (uint32_t i = 0; i < band->band->n_sizes; i++) {
    struct hr__size_draws *size = &band->sizes[i];
    double to = 0;
    for (uint32_t k = 0; k < size->size->n_cells; k++) {
      struct hr__cell_draws *cell = &size->cells[k];
      if (!(cell->campaigns > 0)) continue;
      cell->from = to;
      cell->to = to = hr__score_map_p(&draws->plain, cell->end - shift);
      make_due(cell, size->campaigns / band->campaigns * (cell->to - cell->from), memory);
      sum += cell->weight;
    }
  }
  return sum;
}

/* The cell that `left` of the weights is in. */
static struct hr__cell_draws *choose_cell(struct hr__band_draws *band, double left, struct hr__campaign *campaign) {
  struct hr__cell_draws *chosen = NULL;
  for (uint32_t i = 0; i < band->band->n_sizes; i++)
    for (uint32_t k = 0; k < band->sizes[i].size->n_cells; k++) {
      struct hr__cell_draws *cell = &band->sizes[i].cells[k];
      if (!(cell->weight > 0)) continue;
      if (chosen && left < 0) return chosen;
      chosen = cell;
      campaign->size = (uint8_t)i;
      campaign->cell = (uint8_t)k;
      left -= cell->weight;
    }
  return chosen;
}

/* Where in the cell's quantiles what is `p` of all campaigns of its size is. */
static double part_of_cell(const struct hr__size_draws *size, uint32_t cell, double p) {
  double before = 0;
  for (uint32_t i = 0; i < cell; i++) before += size->cells[i].campaigns;
  return fmin(1 - 1e-9, fmax(0, (p * size->campaigns - before) / size->cells[cell].campaigns));
}

void hr__length_draw(struct hr__draws *draws, uint32_t week, struct hr__stream *stream, struct hr__campaign *campaign) {
  struct hr__band_draws *band = &draws->bands[campaign->band];
  double shift = band->band->length_shifts[week];
  double weights = make_all_due(draws, band, shift);
  struct hr__cell_draws *cell = choose_cell(band, hr__stream_uniform(stream) * weights, campaign);
  const struct hr__size_draws *size = &band->sizes[campaign->size];
  cell->due -= 1;
  cell->length_at += length_step;
  if (cell->length_at >= 1) cell->length_at -= 1;
  double p = fmin(1 - least_p, fmax(least_p, cell->from + cell->length_at * (cell->to - cell->from)));
  double part = part_of_cell(size, campaign->cell, hr__score_map_p(&band->lengths, gsl_cdf_ugaussian_Pinv(p) + shift));
  double length = hr__jobs_at(cell->cell, part) + hr__stream_uniform(stream);
  campaign->left = length < 1 ? 1 : length > 1e9 ? 1000000000 : (uint32_t)length;
}
