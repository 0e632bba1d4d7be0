/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/verbs/trace_like.h"

#include "cli/cli.h"
#include "headroom/unstable/trace_report.h"
#include "headroom/unstable/workload_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool like_is_given(const struct command *command, const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < command->count && strcmp(command->words[i], "--") != 0; i++) {
    const char *word = command->words[i];
    if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 && strchr("=", word[2 + length]))
      return true;
  }
  return false;
}

enum hr_status like_refuse(const struct command *command, const char *const *names, const char *reason,
                           struct hr_error *error) {
  for (; *names; names++)
    if (like_is_given(command, *names)) return hr_fail(error, HR_BAD_INPUT, "--%s %s", *names, reason);
  return HR_OK;
}

enum hr_status like_refuse_alone(const struct command *command, struct hr_error *error) {
  static const char *const names[] = {"model-out", "json", "format", "map", "lenient", "resample", "blocks", NULL};
  return like_refuse(command, names, "has no effect without --like NAME|FILE", error);
}

static enum hr_status check_words(const struct command *command, struct hr_error *error) {
  static const char *const of_models[] = {"median-s",  "sigma",     "max-s",      "diurnal",
                                          "limit-min", "limit-max", "gpu-counts", NULL};
  static const char *const of_loads[] = {"nodes", "gpus-per-node", NULL}, *const of_resampling[] = {"blocks", NULL};
  enum hr_status status = like_refuse(command, of_models, "cannot be used with --like: the model determines it", error);
  if (status == HR_OK && !like_is_given(command, "resample"))
    status = like_refuse(command, of_resampling, "has no effect without --resample", error);
  if (status != HR_OK || like_is_given(command, "load") || like_is_given(command, "resample")) return status;
  return like_refuse(command, of_loads, "has no effect without --load: jobs arrive at the model's own rate", error);
}

static bool is_shipped(const char *name) {
  for (const char *const *known = hr_workload_model_names(); *known; known++)
    if (strcmp(*known, name) == 0) return true;
  return false;
}

/* A word that is not a file may be a misspelt model; one that looks like a path is a missing file. */
static enum hr_status check_name(const char *like, struct hr_error *error) {
  FILE *file = strcmp(like, "-") == 0 ? NULL : fopen(like, "rb");
  int reason = errno;
  if (file) fclose(file);
  if (file || strcmp(like, "-") == 0) return HR_OK;
  if (strpbrk(like, "./")) return hr_fail(error, HR_BAD_INPUT, "--like %s: cannot be read: %s", like, strerror(reason));
  return unknown_word("--like", like, hr_workload_model_names(), error);
}

static enum hr_status fit(const struct like_args *args, struct hr_workload_model **model, struct hr_error *error) {
  enum { FEW = 30 };
  struct hr_trace *trace = NULL;
  enum hr_status status = input_read_trace_alone(args->like, &args->input, &trace, error);
  if (status != HR_OK) return status;
  if (!args->quiet) input_print_trace_notes(stderr, trace);
  if (!args->quiet && trace->n_jobs < FEW)
    fprintf(stderr, "note: %s: fitted to %u job%s only, so the model overfits; use at least %d\n", trace->source,
            trace->n_jobs, trace->n_jobs == 1 ? "" : "s", FEW);
  status = hr_workload_model_fit(trace, model, error);
  hr_trace_destroy(trace);
  return status;
}

static enum hr_status find_model(const struct like_args *args, struct hr_workload_model **model,
                                 struct hr_error *error) {
  bool ships = is_shipped(args->like);
  if (!ships && !hr_workload_model_is_file(args->like)) return fit(args, model, error);
  if (args->input.format || args->input.map || args->input.lenient)
    return hr_fail(error, HR_BAD_INPUT, "--format, --map and --lenient need a trace; '%s' is a %s", args->like,
                   ships ? "shipped model" : "model file");
  return ships ? hr_workload_model_shipped(args->like, model, error) : hr_workload_model_load(args->like, model, error);
}

/* Jobs that are too large are part of the workload and stay. The load is missed if arrivals alone cannot give it. */
static void print_notes(const struct hr_workload_model_spec *spec, const struct hr_workload_model_figures *figures) {
  if (!(spec->load > 0)) return;
  double load = figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node);
  if (figures->too_large)
    fprintf(stderr, "note: %llu of %llu jobs do not fit on the cluster's %u nodes of %u GPUs; the largest needs %u\n",
            (unsigned long long)figures->too_large, (unsigned long long)figures->jobs, spec->nodes, spec->gpus_per_node,
            figures->most_gpus);
  if (fabs(load / spec->load - 1) > 0.01)
    fprintf(stderr, "note: the load is %.3g, not %.3g: arrivals of so few jobs cannot be scaled to it\n", load,
            spec->load);
}

static enum hr_status make(const struct like_request *request, struct hr_workload_model *model,
                           struct hr_error *error) {
  const struct like_args *args = request->args;
  struct hr_workload_model_figures figures;
  enum hr_status status = hr_workload_model_set_people(model, request->users, request->tenants, error);
  if (status == HR_OK && args->model_out) status = hr_workload_model_write(model, args->model_out, error);
  if (status == HR_OK) status = hr_workload_model_generate(model, &request->spec, args->output, &figures, error);
  if (status == HR_OK && !args->quiet) print_notes(&request->spec, &figures);
  if (status != HR_OK || !args->json) return status;
  return hr_workload_model_figures_write(model, &request->spec, &figures, args->json, error);
}

enum hr_status like_run(const struct like_request *request, struct hr_error *error) {
  const struct like_args *args = request->args;
  const struct output outputs[] = {{"output", args->output}, {"model-out", args->model_out}, {"json", args->json}};
  const char *inputs[] = {args->like};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  bool ships = is_shipped(args->like);
  enum hr_status status = check_words(request->command, error);
  if (status == HR_OK) status = outputs_check(outputs, n_outputs, inputs, ships ? 0 : 1, error);
  if (status == HR_OK) status = outputs_spare_params(outputs, n_outputs, args->input.format, error);
  if (status == HR_OK && !ships) status = check_name(args->like, error);
  if (status != HR_OK || args->resample) return status == HR_OK ? like_resample(request, ships, error) : status;
  struct hr_workload_model *model = NULL;
  status = find_model(args, &model, error);
  if (status == HR_OK) status = make(request, model, error);
  hr_workload_model_destroy(model);
  return status;
}
