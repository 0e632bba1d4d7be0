/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tiers and networks by name, and tables of speeds by network: see headroom/topology.h. */

#include "headroom/topology.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FULL_PPM = 1000000 };

const char *hr_tier_name(enum hr_tier tier) {
  static const char *const names[] = {
#define TIER_TEXT(name, text) text,
      HR_TIER_TABLE(TIER_TEXT)
#undef TIER_TEXT
  };
  return names[tier];
}

const char *hr_network_name(enum hr_network network) {
  static const char *const names[] = {
#define NETWORK_TEXT(name, text) text,
      HR_NETWORK_TABLE(NETWORK_TEXT)
#undef NETWORK_TEXT
  };
  return names[network];
}

void hr_network_speeds_destroy(struct hr_network_speeds *speeds) {
  if (!speeds) return;
  for (uint32_t i = 0; speeds->rows && i < speeds->n_rows; i++) free(speeds->rows[i].model);
  free(speeds->rows);
  free(speeds);
}

static bool is_of_family(const char *model, const char *family) {
  if (strcmp(family, "*") == 0) return true;
  return model && strncasecmp(model, family, strlen(family)) == 0;
}

/* "*" is the shortest that a family can be. */
static size_t length_of(const char *family) {
  return strcmp(family, "*") == 0 ? 0 : strlen(family);
}

struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                          enum hr_network network) {
  struct hr_network_span best = {0};
  for (uint32_t i = 0; i < speeds->n_rows; i++) {
    const struct hr_network_speed *row = &speeds->rows[i], *first = &speeds->rows[best.first];
    if (row->network != network || !is_of_family(model, row->model)) continue;
    if (best.count && strcasecmp(row->model, first->model) == 0)
      best.count++;
    else if (!best.count || length_of(row->model) > length_of(first->model))
      best = (struct hr_network_span){i, 1};
  }
  return best;
}

uint32_t hr_network_span_ppm(const struct hr_network_speeds *speeds, struct hr_network_span span, uint32_t gpus) {
  if (span.count == 0) return FULL_PPM;
  uint32_t row = span.first;
  while (row + 1 < span.first + span.count && speeds->rows[row + 1].gpus <= gpus) row++;
  return speeds->rows[row].speed_ppm;
}
