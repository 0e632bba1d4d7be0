/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace pack`: a trace of any format as a file that is mapped instead of read. */

#include "cli/cli.h"
#include "cli/input.h"

struct pack_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

static const struct option options[] = {{.name = "output",
                                         .letter = 'o',
                                         .kind = OPTION_TEXT,
                                         .offset = offsetof(struct pack_args, output),
                                         .value = "FILE",
                                         .help = "where to write the packed trace, as in jobs.hrt"},
                                        {.name = "json",
                                         .kind = OPTION_TEXT,
                                         .offset = offsetof(struct pack_args, json),
                                         .value = "FILE",
                                         .help = "write jobs, bytes and sections as JSON ('-': standard output)"},
                                        {.name = "quiet",
                                         .letter = 'q',
                                         .kind = OPTION_FLAG,
                                         .offset = offsetof(struct pack_args, quiet),
                                         .help = "no notes; errors are still told"},
                                        TRACE_OPTIONS(pack_args),
                                        {0}};

static const char details[] = "A packed trace is read like any other, without --format, and at once. It holds\n"
                              "all that was understood of the input; docs/reference/formats.md has its layout.\n\n"
                              "Example:\n"
                              "  headroom trace pack jobs.csv.gz -o jobs.hrt\n"
                              "  headroom run scenarios/demo.json --trace jobs.hrt\n";

static enum hr_status check_output(const char *path, const struct pack_args *args, struct hr_error *error) {
  if (!args->output)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace pack: -o FILE is missing: where to write the packed trace\nTry 'headroom help trace pack'.");
  if (!hr_trace_writer_find("packed", args->output, error)) return HR_BAD_INPUT;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status pack(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct pack_args *args = untyped;
  struct hr_trace *trace = NULL;
  struct hr_packed packed;
  enum hr_status status = check_output(operands->at[0], args, error);
  if (status == HR_OK) status = input_read_trace_alone(operands->at[0], &args->input, &trace, error);
  if (status == HR_OK) status = hr_trace_pack(trace, args->output, &packed, error);
  if (status == HR_OK && args->json) status = hr_packed_write_json(&packed, args->json, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_trace_pack = {.name = "trace pack",
                                     .operands = "TRACE",
                                     .least_operands = 1,
                                     .most_operands = 1,
                                     .summary = "write a trace in the packed form, which loads at once",
                                     .details = details,
                                     .options = options,
                                     .args_bytes = sizeof(struct pack_args),
                                     .run = pack};
