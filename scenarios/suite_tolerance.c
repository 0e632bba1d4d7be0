/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tolerance of a suite as people write it in one word. */

#include "headroom/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "2%" is a share, "30" is in the figure's unit. */
static bool parse_by(const char *text, struct hr_tolerance *tolerance) {
  char *end;
  double value = strtod(text, &end);
  bool share = *end == '%';
  if (end == text || end[share] != '\0' || !isfinite(value) || value < 0) return false;
  tolerance->relative = share ? value / 100 : 0;
  tolerance->absolute = share ? 0 : value;
  return true;
}

enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error) {
  struct hr_tolerance fresh = {.worse = HR_WORSE_UNSAID};
  struct hr_tolerances *tolerances = &suite->tolerances;
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text || !parse_by(equals + 1, &fresh))
    return hr_fail(error, HR_BAD_INPUT,
                   "--tolerance %.200s: FIGURE=BY is wanted, BY a share as 2%% or a number of at least 0 in the "
                   "figure's unit",
                   text);
  struct hr_tolerance *grown = realloc(tolerances->at, (tolerances->count + 1) * sizeof *grown);
  if (grown) tolerances->at = grown;
  size_t bytes = strlen(text) + sizeof "--tolerance : ";
  fresh.figure.text = grown ? strndup(text, (size_t)(equals - text)) : NULL;
  fresh.figure.place = fresh.figure.text ? malloc(bytes) : NULL;
  if (!fresh.figure.place) {
    free(fresh.figure.text);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  snprintf(fresh.figure.place, bytes, "--tolerance %s: ", text);
  grown[tolerances->count++] = fresh;
  return HR_OK;
}

void hr_suite_set_only_worse(struct hr_suite *suite) {
  suite->tolerances.only_worse = true;
  suite->tolerances.said_only_worse = true;
}
