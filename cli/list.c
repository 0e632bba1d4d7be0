/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom list`: what this build knows. */

#include "cli/cli.h"
#include "headroom/headroom.h"

#include <stdlib.h>
#include <string.h>

struct list_args {
  bool verbose;
};

static const struct option options[] = {{.name = "verbose",
                                         .letter = 'v',
                                         .kind = OPTION_FLAG,
                                         .offset = offsetof(struct list_args, verbose),
                                         .help = "parameters of policies, sources of figures, whole descriptions"},
                                        {0}};

static const char details[] = "policies   scheduling policies and, with -v, their parameters\n"
                              "formats    trace formats that can be read\n"
                              "scenarios  scenario files that ship with Headroom\n"
                              "gpus       the catalogue of GPU types and, with -v, where its figures come from\n";

/* ---- Policies --------------------------------------------------------------------------------------- */

static void print_param(const struct hr_param *param) {
  printf("    %s = ", param->key);
  switch (param->type) {
  case HR_PARAM_CHOICE:
    for (size_t i = 0; param->choices[i]; i++) printf("%s%s", i ? " | " : "", param->choices[i]);
    break;
  case HR_PARAM_INTEGER:
  case HR_PARAM_REAL:
    printf("%s from %.15g to %.15g", param->type == HR_PARAM_INTEGER ? "whole number" : "number", param->min,
           param->max);
    break;
  case HR_PARAM_BOOLEAN:
    printf("true | false");
    break;
  }
  printf("   (default: %s)\n      ", param->fallback);
  print_wrapped(stdout, param->help, 6, 6);
}

static enum hr_status list_policies(bool verbose, struct hr_error *error) {
  (void)error;
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) {
    printf("%-10s", (*at)->name);
    print_wrapped(stdout, (*at)->summary, 10, 10);
    for (const struct hr_param *param = (*at)->params; verbose && param && param->key; param++) print_param(param);
  }
  return HR_OK;
}

/* ---- Formats ---------------------------------------------------------------------------------------- */

static enum hr_status list_formats(bool verbose, struct hr_error *error) {
  (void)verbose;
  (void)error;
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++) {
    printf("%-10s", at->name);
    print_wrapped(stdout, at->summary, 10, 10);
  }
  return HR_OK;
}

/* ---- Scenarios -------------------------------------------------------------------------------------- */

/* The first sentence, up to a colon or full stop. */
static void print_gist(const char *description) {
  char gist[200];
  size_t length = strcspn(description, ":");
  const char *stop = strstr(description, ". ");
  if (stop && (size_t)(stop - description) < length) length = (size_t)(stop - description);
  snprintf(gist, sizeof gist, "%.*s", (int)length, description);
  print_wrapped(stdout, gist, 10, 10);
}

static enum hr_status list_scenarios(bool verbose, struct hr_error *error) {
  struct hr_scenario_entry *entries;
  size_t count;
  enum hr_status status = hr_scenario_list(&entries, &count, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < count; i++) {
    printf("%-10s", entries[i].name);
    if (verbose)
      print_wrapped(stdout, entries[i].description, 10, 10);
    else
      print_gist(entries[i].description);
    printf("%10s%s\n", "", entries[i].path);
  }
  hr_scenario_list_free(entries, count);
  return HR_OK;
}

/* ---- GPU types -------------------------------------------------------------------------------------- */

static void print_gpu(const struct hr_gpu_type *type, bool verbose) {
  printf("%-10s%7g%9g%14g%7g%7g%9g%5s  %s\n", type->name, type->mem_gb, type->bandwidth_gb_s, type->fp16_tflops,
         type->tdp_w, type->idle_w, type->nvlink_gb_s, type->mig_slices > 0 ? "yes" : "no", type->status);
  if (!verbose) return;
  printf("    ");
  print_wrapped(stdout, type->source, 4, 4);
}

static enum hr_status list_gpus(bool verbose, struct hr_error *error) {
  struct hr_gpu_type *types;
  size_t count;
  enum hr_status status = hr_gpu_types(&types, &count, error);
  if (status != HR_OK) return status;
  printf("%-10s%7s%9s%14s%7s%7s%9s%5s  %s\n", "gpu", "mem_gb", "gb_per_s", "fp16_tflops", "tdp_w", "idle_w", "nvlink",
         "mig", "figures");
  for (size_t i = 0; i < count; i++) print_gpu(&types[i], verbose);
  hr_gpu_types_free(types, count);
  return HR_OK;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  static const struct {
    const char *name;
    enum hr_status (*list)(bool verbose, struct hr_error *error);
  } lists[] = {
      {"policies", list_policies}, {"formats", list_formats}, {"scenarios", list_scenarios}, {"gpus", list_gpus}};
  enum { N_LISTS = sizeof lists / sizeof *lists };
  const struct list_args *list_args = args;
  const char *names[N_LISTS + 1] = {0};
  for (size_t i = 0; i < N_LISTS; i++) {
    if (strcmp(lists[i].name, operands->at[0]) == 0) return lists[i].list(list_args->verbose, error);
    names[i] = lists[i].name;
  }
  return unknown_word("list", operands->at[0], names, error);
}

const struct verb verb_list = {.name = "list",
                               .operands = "policies|formats|scenarios|gpus",
                               .least_operands = 1,
                               .most_operands = 1,
                               .summary = "show the policies, trace formats, scenarios or GPU types there are",
                               .details = details,
                               .options = options,
                               .args_bytes = sizeof(struct list_args),
                               .run = run_verb};
