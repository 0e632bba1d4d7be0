/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/trace_like.h"

#include "cli/cli.h"
#include "headroom/unstable/like.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool like_is_given(const struct command *command, const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < command->count; i++) {
    const char *word = command->words[i];
    if (strcmp(word, "--") == 0) return false;
    if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
        (word[2 + length] == '\0' || word[2 + length] == '='))
      return true;
  }
  return false;
}

enum hr_status like_check_words(const struct command *command, struct hr_error *error) {
  static const char *const said_by_models[] = {"median-s",  "sigma",     "max-s",     "diurnal",
                                               "limit-min", "limit-max", "gpu-counts"};
  for (size_t i = 0; i < sizeof said_by_models / sizeof *said_by_models; i++)
    if (like_is_given(command, said_by_models[i]))
      return hr_fail(error, HR_BAD_INPUT, "--%s does not go with --like, whose model says it; leave one of them out",
                     said_by_models[i]);
  bool cluster = like_is_given(command, "nodes") || like_is_given(command, "gpus-per-node");
  if (!cluster || like_is_given(command, "load")) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--%s says nothing without --load: jobs come at the model's own rate; add --load",
                 like_is_given(command, "nodes") ? "nodes" : "gpus-per-node");
}

enum hr_status like_refuse_alone(const struct like_args *args, struct hr_error *error) {
  const struct {
    const char *name;
    bool given;
  } options[] = {{"model-out", args->model_out != NULL},
                 {"json", args->json != NULL},
                 {"format", args->input.format != NULL},
                 {"map", args->input.map != NULL},
                 {"lenient", args->input.lenient}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].given) return hr_fail(error, HR_BAD_INPUT, "--%s goes with --like NAME|FILE only", options[i].name);
  return HR_OK;
}

/* ---- The model -------------------------------------------------------------------------------------- */

static bool is_shipped(const char *name) {
  for (const char *const *known = hr_like_names(); *known; known++)
    if (strcmp(*known, name) == 0) return true;
  return false;
}

/* A word that is no file may be a slip of one that ships; what looks like a path is a file that is not there. */
static enum hr_status check_name(const char *like, struct hr_error *error) {
  if (strcmp(like, "-") == 0) return HR_OK;
  FILE *file = fopen(like, "rb");
  int reason = errno;
  if (file) {
    fclose(file);
    return HR_OK;
  }
  if (strpbrk(like, "./")) return hr_fail(error, HR_BAD_INPUT, "--like %s: cannot be read: %s", like, strerror(reason));
  return unknown_word("--like", like, hr_like_names(), error);
}

/* Quantiles of so few are those jobs themselves. */
static void note_few(const struct hr_trace *trace) {
  enum { FEW = 30 };
  if (trace->n_jobs >= FEW) return;
  fprintf(stderr, "note: %s: a model of %u job%s repeats them more than it tells of others; %d or more are wanted\n",
          trace->source, trace->n_jobs, trace->n_jobs == 1 ? "" : "s", FEW);
}

static enum hr_status fit(const struct like_args *args, struct hr_like_model **model, struct hr_error *error) {
  struct hr_trace *trace = NULL;
  enum hr_status status = input_read_trace_alone(args->like, &args->input, &trace, error);
  if (status != HR_OK) return status;
  if (!args->quiet) input_print_trace_notes(stderr, trace);
  if (!args->quiet) note_few(trace);
  status = hr_like_fit(trace, model, error);
  hr_trace_destroy(trace);
  return status;
}

static enum hr_status find_model(const struct like_args *args, struct hr_like_model **model, struct hr_error *error) {
  bool trace_options = args->input.format || args->input.map || args->input.lenient;
  bool ships = is_shipped(args->like);
  enum hr_status status = ships ? HR_OK : check_name(args->like, error);
  if (status != HR_OK) return status;
  if (!ships && !hr_like_is_model(args->like)) return fit(args, model, error);
  if (trace_options)
    return hr_fail(error, HR_BAD_INPUT, "--format, --map and --lenient are for a trace; '%s' is a model%s", args->like,
                   ships ? " that ships" : "");
  return ships ? hr_like_shipped(args->like, model, error) : hr_like_load(args->like, model, error);
}

/* ---- What is made of it ----------------------------------------------------------------------------- */

/* They are not left out: what they ask for is part of the workload. */
static void note_too_large(const struct hr_like_spec *spec, const struct hr_like_figures *figures) {
  if (figures->too_large == 0) return;
  uint64_t jobs = figures->too_large;
  fprintf(stderr,
          "note: %llu of %llu jobs %s for more GPUs than the cluster's %u nodes of %u have, the largest for %u: %s can "
          "never run there\n",
          (unsigned long long)jobs, (unsigned long long)figures->jobs, jobs == 1 ? "asks" : "ask", spec->nodes,
          spec->gpus_per_node, figures->most_gpus, jobs == 1 ? "it" : "they");
}

/* A few large jobs, or campaigns that go on as they began, keep the load from being what was asked for by more or fewer
   campaigns alone. */
static void note_load(const struct hr_like_spec *spec, const struct hr_like_figures *figures) {
  static const double near = 0.01;
  if (!(spec->load > 0)) return;
  double load = figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node);
  if (fabs(load / spec->load - 1) > near)
    fprintf(stderr, "note: the load is %.3g, not %.3g, which these jobs do not add up to\n", load, spec->load);
  else if (fabs(log(figures->stretch)) > near)
    fprintf(stderr,
            "note: all times are multiplied with %.3g for the load to be %.3g: hours of the day are not those of the "
            "model; more jobs need less of it\n",
            figures->stretch, spec->load);
}

static enum hr_status make(const struct like_request *request, struct hr_like_model *model, struct hr_error *error) {
  const struct like_args *args = request->args;
  struct hr_like_figures figures;
  enum hr_status status = hr_like_set_people(model, request->users, request->tenants, error);
  if (status == HR_OK && args->model_out) status = hr_like_write(model, args->model_out, error);
  if (status == HR_OK) status = hr_like_generate(model, &request->spec, request->path, &figures, error);
  if (status == HR_OK && !args->quiet) note_too_large(&request->spec, &figures);
  if (status == HR_OK && !args->quiet) note_load(&request->spec, &figures);
  if (status == HR_OK && args->json) status = hr_like_figures_write(model, &request->spec, &figures, args->json, error);
  return status;
}

enum hr_status like_run(const struct like_request *request, struct hr_error *error) {
  const struct like_args *args = request->args;
  const struct output outputs[] = {{"output", request->path}, {"model-out", args->model_out}, {"json", args->json}};
  const char *inputs[] = {args->like};
  enum hr_status status =
      outputs_check(outputs, sizeof outputs / sizeof *outputs, inputs, is_shipped(args->like) ? 0 : 1, error);
  if (status == HR_OK)
    status = outputs_spare_params(outputs, sizeof outputs / sizeof *outputs, args->input.format, error);
  struct hr_like_model *model = NULL;
  if (status == HR_OK) status = find_model(args, &model, error);
  if (status == HR_OK) status = make(request, model, error);
  hr_like_destroy(model);
  return status;
}
