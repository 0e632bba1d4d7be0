/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace generate --like TRACE --resample`: whole days or weeks of a trace, drawn with replacement. */

#include "cli/cli.h"
#include "cli/verbs/trace_like.h"
#include "headroom/unstable/workload_model.h"

#include <string.h>

/* Blocks as requested; weeks if the trace has ten whole ones, else days: draws of few blocks are too much alike. */
static enum hr_status choose_blocks(const char *blocks, const struct hr_trace *trace, struct hr_workload_spec *spec,
                                    struct hr_error *error) {
  static const char *const known[] = {"days", "weeks", NULL};
  enum { ENOUGH_WEEKS = 10 };
  struct hr_workload_cut cut;
  if (blocks && strcmp(blocks, known[0]) != 0 && strcmp(blocks, known[1]) != 0)
    return unknown_word("--blocks", blocks, known, error);
  spec->blocks = HR_BLOCKS_WEEKS;
  bool enough = hr_trace_cut(trace, spec, &cut, NULL) == HR_OK && cut.n_whole >= ENOUGH_WEEKS;
  if (blocks ? strcmp(blocks, "days") == 0 : !enough) spec->blocks = HR_BLOCKS_DAYS;
  if (hr_trace_cut(trace, spec, &cut, NULL) == HR_OK) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: the trace has no two whole %s to draw from", trace->source,
                 hr_blocks_name(spec->blocks));
}

static enum hr_status redraw(const struct like_request *request, const struct hr_trace *trace, struct hr_error *error) {
  struct hr_workload_spec spec;
  struct hr_trace *drawn = NULL;
  hr_workload_spec_init(&spec);
  enum hr_status status = choose_blocks(request->args->blocks, trace, &spec, error);
  if (status != HR_OK) return status;
  if (like_is_given(request->command, "count"))
    status = hr_trace_redraw_count(trace, &spec, request->spec.seed, (uint32_t)request->spec.count, &drawn, error);
  else
    status = hr_trace_redraw(trace, &spec, request->spec.seed, &drawn, error);
  if (status == HR_OK) status = hr_trace_write(drawn, request->args->output, NULL, NULL, error);
  hr_trace_destroy(drawn);
  return status;
}

enum hr_status like_resample(const struct like_request *request, bool ships, struct hr_error *error) {
  static const char *const of_models[] = {"model-out", "json", "users", "tenants", NULL};
  static const char *const of_loads[] = {"load", "nodes", "gpus-per-node", NULL};
  const struct like_args *args = request->args;
  struct hr_trace *trace = NULL;
  bool row_by_row;
  if (ships || hr_workload_model_is_file(args->like))
    return hr_fail(error, HR_BAD_INPUT, "--resample needs a trace; '%s' is a %s, which holds no jobs", args->like,
                   ships ? "shipped model" : "model file");
  enum hr_status status =
      like_refuse(request->command, of_models, "cannot be used with --resample, which draws from no model", error);
  if (status == HR_OK)
    status = like_refuse(
        request->command, of_loads,
        "cannot be used with --resample, which keeps the trace's load; 'headroom trace scale' changes it", error);
  if (status == HR_OK) status = hr_generated_file(args->output, &row_by_row, error);
  if (status == HR_OK) status = input_read_trace_alone(args->like, &args->input, &trace, error);
  if (status != HR_OK) return status;
  if (!args->quiet) input_print_trace_notes(stderr, trace);
  status = redraw(request, trace, error);
  hr_trace_destroy(trace);
  return status;
}
