/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_REPORT_H
#define HEADROOM_UNSTABLE_TRACE_REPORT_H

/* Output of statistics, findings and transformations of traces as tables and as JSON. */

#include "headroom/unstable/trace_check.h"
#include "headroom/unstable/trace_tools.h"
#include "headroom/unstable/workload_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the inputs and the output of a transformation, 80 columns wide. Losses that occurred when the output was
   written are not included; see hr_trace_loss_notes. */
HR_API enum hr_status hr_transformation_print(FILE *out, const struct hr_transformation *done);

/* Writes a transformation as JSON (docs/reference/schemas/transform.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_transformation_write_json(const char *path, const struct hr_transformation *done,
                                                   struct hr_error *error);

/* Writes statistics as tables, at most 80 columns wide. `style`: a set of HR_STYLE_COLOUR and HR_STYLE_UNICODE. `path`
   "-" is standard output. */
HR_API enum hr_status hr_trace_stats_write(const char *path, const struct hr_trace_stats *stats, unsigned style,
                                           struct hr_error *error);

/* Statistics as JSON (docs/reference/schemas/trace-stats.schema.json). hr_trace_stats_write_json writes a file; `path`
   "-" is standard output. hr_trace_stats_json returns text, which the caller frees with free(); NULL if memory is
   exhausted. It has at most `max_rows` rows by tenant, by user and by GPU type (0: all). */
HR_API enum hr_status hr_trace_stats_write_json(const char *path, const struct hr_trace_stats *stats,
                                                struct hr_error *error);

HR_API char *hr_trace_stats_json(const struct hr_trace_stats *stats, size_t max_rows);

/* Write findings as text, 80 columns wide, or as JSON (docs/reference/schemas/trace-check.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_trace_check_write(const char *path, const struct hr_trace_check *check, bool colour,
                                           struct hr_error *error);

HR_API enum hr_status hr_trace_check_write_json(const char *path, const struct hr_trace_check *check,
                                                struct hr_error *error);

/* Writes the figures of a generated workload as JSON (docs/reference/schemas/like-result.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_workload_model_figures_write(const struct hr_workload_model *model,
                                                      const struct hr_workload_model_spec *spec,
                                                      const struct hr_workload_model_figures *figures, const char *path,
                                                      struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
