/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_SERIES_H
#define HR_SERVE_SERIES_H

/* The timeline of a run for charts. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { HR__MAX_SERIES = 2000 };

/* Writes the timeline in a file, which `headroom run --timeline` wrote, as JSON: for each of at most `count` intervals
   of equal length, the means over time of waiting jobs, running jobs, and allocated and present GPUs, and the largest
   number of waiting jobs:
     {"end_s": 86400, "waiting": [...], "most_waiting": [...], "running": [...], "gpus_allocated": [...],
      "gpus_total": [...]}
   Returns false if the file cannot be read, or when out of memory. */
bool hr__series_write(FILE *out, const char *path, uint32_t count);

#endif
