/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures go where the trace does not: to standard output, or to standard error where that has the trace or JSON.
 */

#include "cli/transform.h"

#include <stdlib.h>
#include <string.h>

static const char *output_of(const struct transform *transform) {
  return transform->args->output ? transform->args->output : "-";
}

static enum hr_status check_outputs(const struct transform *transform, struct hr_error *error) {
  const struct output outputs[] = {{"output", output_of(transform)}, {"json", transform->args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, transform->paths->at, transform->paths->count, error);
  if (status == HR_OK) status = outputs_spare_params(outputs, n_outputs, transform->args->input.format, error);
  if (status != HR_OK || !transform->also_read) return status;
  return outputs_check(outputs, n_outputs, &transform->also_read, 1, error);
}

static enum hr_status check_inputs(const struct words *paths, struct hr_error *error) {
  size_t n = 0;
  for (size_t i = 0; i < paths->count; i++) n += strcmp(paths->at[i], "-") == 0;
  return n < 2 ? HR_OK : hr_fail(error, HR_BAD_INPUT, "-: standard input is one trace; it is named %zu times", n);
}

enum hr_status transform_open(struct transform *transform, struct hr_error *error) {
  const struct transform_args *args = transform->args;
  enum hr_status status = HR_OK;
  if (!hr_trace_writer_find(args->to, output_of(transform), error)) status = HR_BAD_INPUT;
  if (status == HR_OK) status = check_inputs(transform->paths, error);
  if (status == HR_OK) status = check_outputs(transform, error);
  if (status != HR_OK) return status;
  transform->traces = calloc(transform->paths->count, sizeof *transform->traces);
  if (!transform->traces) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; status == HR_OK && i < transform->paths->count; i++)
    status = input_read_trace_alone(transform->paths->at[i], &args->input, &transform->traces[i], error);
  return status;
}

void transform_finish(struct transform *transform) {
  for (size_t i = 0; transform->traces && i < transform->paths->count; i++) hr_trace_destroy(transform->traces[i]);
  free(transform->traces);
  hr_trace_destroy(transform->made);
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

static void print_notes(const struct transform *transform, const struct hr_notes *losses) {
  for (size_t i = 0; i < transform->paths->count; i++) input_print_trace_notes(stderr, transform->traces[i]);
  for (size_t i = 0; i < losses->count; i++) fprintf(stderr, "note: %s\n", losses->text[i]);
}

static enum hr_status tell(const struct transform *transform, const struct hr_transformation *done,
                           struct hr_error *error) {
  const struct transform_args *args = transform->args;
  struct hr_notes losses = {0};
  enum hr_status status = args->json ? hr_transformation_write_json(args->json, done, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  status = hr_trace_loss_notes(done->written, &losses);
  if (status == HR_OK) print_notes(transform, &losses);
  hr_notes_finish(&losses);
  if (status == HR_OK && !is_stdout(done->path) && !is_stdout(args->json))
    status = hr_transformation_print(stdout, done);
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "what was done cannot be told: %s", hr_status_meaning(status));
}

enum hr_status transform_tell(const struct transform *transform, struct hr_error *error) {
  const struct hr_trace *made = transform->made ? transform->made : transform->traces[0];
  size_t n = transform->paths->count;
  struct hr_transform_input *inputs = calloc(n, sizeof *inputs);
  struct hr_trace_written written;
  if (!inputs) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++)
    inputs[i] = (struct hr_transform_input){transform->paths->at[i], hr_trace_size_of(transform->traces[i])};
  const struct hr_transformation done = {.action = transform->action,
                                         .inputs = inputs,
                                         .n_inputs = n,
                                         .out = hr_trace_size_of(made),
                                         .path = output_of(transform),
                                         .written = &written,
                                         .method = transform->method,
                                         .seed = transform->seed,
                                         .seeded = transform->seeded};
  enum hr_status status = hr_trace_write(made, output_of(transform), transform->args->to, &written, error);
  if (status == HR_OK) status = tell(transform, &done, error);
  free(inputs);
  return status;
}
