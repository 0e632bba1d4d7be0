/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_STATS_H
#define HEADROOM_TRACE_STATS_H

/* What is in a trace, in numbers: how large and how long jobs are, by whom and when they are submitted, how unevenly,
   and which distributions fit. docs/reference/trace-stats.md says how each is computed. */

#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_trace_stats;

/* The trace must outlive them. Any number of threads may make some of one trace. HR_NO_MEMORY is the only failure. */
HR_API enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                          struct hr_error *error);
HR_API void hr_trace_stats_destroy(struct hr_trace_stats *stats);

/* Tables, at most 80 columns wide; `style`: HR_STYLE_COLOUR | HR_STYLE_UNICODE. `path` "-" is standard output. */
HR_API enum hr_status hr_trace_stats_write(const char *path, const struct hr_trace_stats *stats, unsigned style,
                                           struct hr_error *error);
/* As JSON (docs/reference/schemas/trace-stats.schema.json): a file, or text that the caller frees; NULL when out of
 * memory. */
HR_API enum hr_status hr_trace_stats_write_json(const char *path, const struct hr_trace_stats *stats,
                                                struct hr_error *error);
HR_API char *hr_trace_stats_json(const struct hr_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
