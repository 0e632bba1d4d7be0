/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom list`: what this build knows. */

#include "cli/cli.h"
#include "cli/verbs/catalog_lists.h"
#include "headroom/headroom.h"
#include "headroom/unstable/placement.h"
#include "headroom/unstable/trace_check.h"

#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct list_args, verbose),
     .help = "parameters of policies, sources of figures, whole descriptions"},
    {.name = "provider",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, provider),
     .value = "NAME",
     .help = "instances, prices, discounts and presets of this one alone"},
    {.name = "region",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, region),
     .value = "NAME",
     .help = "prices in it instead of in each provider's base region; presets of it"},
    {.name = "gpu",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, gpu),
     .value = "TYPE",
     .help = "MIG profiles, instances, prices and presets of this GPU alone"},
    {.name = "as-of",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, as_of),
     .value = "DATE",
     .help = "prices and discounts as they were on a day (2025-05-01), in a month or year"},
    {0}};

static const char details[] = "policies      scheduling policies, names for settings of theirs, -v: parameters\n"
                              "placements    rules of 'headroom fill': on which node and GPUs a task goes\n"
                              "formats       trace formats that can be read\n"
                              "fields        what a column map, and 'trace anonymise --drop', may name\n"
                              "findings      kinds of what 'trace check' finds, and what they mean\n"
                              "scenarios     scenario files that ship with Headroom\n"
                              "gpus          GPU types: memory, speed, power\n"
                              "mig-profiles  how MIG splits them: slices, memory, starts; -v: drawings, layouts\n"
                              "network-speeds\n              how fast models are on GPUs that are joined by a network\n"
                              "instances     what providers rent: GPUs, processors, memory, disks\n"
                              "prices        USD per hour of an instance and of a GPU, by market and term\n"
                              "discounts     what commitments and spot take off the on-demand price\n"
                              "spot-presets  models of how spot capacity is reclaimed\n"
                              "\nFigures are quoted from a source, derived, assumed or a mix of these: -v says.\n";

/* ---- Policies --------------------------------------------------------------------------------------- */

static void write_values(FILE *out, const void *what) {
  const struct hr_param *param = what;
  fprintf(out, "%s = ", param->key);
  switch (param->type) {
  case HR_PARAM_CHOICE:
    for (size_t i = 0; param->choices[i]; i++) fprintf(out, "%s%s", i ? " | " : "", param->choices[i]);
    break;
  case HR_PARAM_INTEGER:
  case HR_PARAM_REAL:
    fprintf(out, "%s from %.15g to %.15g", param->type == HR_PARAM_INTEGER ? "whole number" : "number", param->min,
            param->max);
    break;
  case HR_PARAM_BOOLEAN:
    fprintf(out, "true | false");
    break;
  }
  fprintf(out, " (default: %s)", param->fallback);
}

static void print_param(const struct hr_param *param) {
  printf("    ");
  print_wrapped_from(stdout, write_values, param, 4, 8);
  printf("      ");
  print_wrapped(stdout, param->help, 6, 6);
}

enum { NAME_COLUMN = 14 };

/* A name, and what it is in a column beside it, or below a name that is longer. */
static void print_name(const char *name) {
  printf("%-*s", NAME_COLUMN, name);
  if (strlen(name) >= NAME_COLUMN) printf("\n%*s", NAME_COLUMN, "");
}

static void print_setting(const struct hr_policy_setting *setting) {
  print_name(setting->name);
  printf("a name for %s:", setting->policy);
  for (const struct hr_policy_value *at = setting->values; at->key; at++)
    printf("%s%s=%s", at == setting->values ? "" : ",", at->key, at->value);
  putchar('\n');
}

static enum hr_status list_policies(const struct list_args *args, struct hr_error *error) {
  (void)error;
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) {
    print_name((*at)->name);
    print_wrapped(stdout, (*at)->summary, NAME_COLUMN, NAME_COLUMN);
    for (const struct hr_param *param = (*at)->params; args->verbose && param && param->key; param++)
      print_param(param);
  }
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++) print_setting(at);
  return HR_OK;
}

/* ---- Placements ------------------------------------------------------------------------------------- */

static enum hr_status list_placements(const struct list_args *args, struct hr_error *error) {
  (void)args;
  (void)error;
  for (const struct hr_packing_rule *const *at = hr_packing_rules(); *at; at++) {
    print_name((*at)->name);
    print_wrapped(stdout, (*at)->summary, NAME_COLUMN, NAME_COLUMN);
  }
  return HR_OK;
}

/* ---- Formats ---------------------------------------------------------------------------------------- */

static enum hr_status list_formats(const struct list_args *args, struct hr_error *error) {
  (void)args;
  (void)error;
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++) {
    print_name(at->name);
    print_wrapped(stdout, at->summary, NAME_COLUMN, NAME_COLUMN);
  }
  return HR_OK;
}

static enum hr_status list_fields(const struct list_args *args, struct hr_error *error) {
  (void)args;
  (void)error;
  for (const struct hr_trace_field *at = hr_trace_fields(); at->name; at++) {
    print_name(at->name);
    printf("column %s%s\n", at->column, at->must_exist ? ", which must be there" : "");
  }
  return HR_OK;
}

static enum hr_status list_findings(const struct list_args *args, struct hr_error *error) {
  (void)args;
  (void)error;
  for (int code = 0; code < HR_N_FINDINGS; code++) {
    const char *meaning = hr_finding_meaning((enum hr_finding_code)code);
    print_name(hr_finding_name((enum hr_finding_code)code));
    print_wrapped(stdout, meaning ? meaning : "(to know)", NAME_COLUMN, NAME_COLUMN);
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
  print_wrapped(stdout, gist, NAME_COLUMN, NAME_COLUMN);
}

static enum hr_status list_scenarios(const struct list_args *args, struct hr_error *error) {
  struct hr_scenario_entry *entries;
  size_t count;
  enum hr_status status = hr_scenario_list(&entries, &count, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < count; i++) {
    print_name(entries[i].name);
    if (args->verbose)
      print_wrapped(stdout, entries[i].description, NAME_COLUMN, NAME_COLUMN);
    else
      print_gist(entries[i].description);
    printf("%*s%s\n", NAME_COLUMN, "", entries[i].path);
  }
  hr_scenario_list_free(entries, count);
  return HR_OK;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

enum list_filter { BY_PROVIDER = 1, BY_REGION = 2, BY_GPU = 4, BY_DATE = 8 };

static const struct list_list {
  const char *name;
  enum hr_status (*print)(const struct list_args *args, struct hr_error *error);
  unsigned filters;
} lists[] = {{"policies", list_policies, 0},
             {"placements", list_placements, 0},
             {"formats", list_formats, 0},
             {"fields", list_fields, 0},
             {"findings", list_findings, 0},
             {"scenarios", list_scenarios, 0},
             {"gpus", list_gpus, BY_GPU},
             {"mig-profiles", list_mig_profiles, BY_GPU},
             {"network-speeds", list_network_speeds, 0},
             {"instances", list_instances, BY_PROVIDER | BY_GPU},
             {"prices", list_prices, BY_PROVIDER | BY_REGION | BY_GPU | BY_DATE},
             {"discounts", list_discounts, BY_PROVIDER | BY_DATE},
             {"spot-presets", list_spot_presets, BY_PROVIDER | BY_REGION | BY_GPU}};
enum { N_LISTS = sizeof lists / sizeof *lists };

static enum hr_status print_list(const struct list_list *list, const struct list_args *args, struct hr_error *error) {
  const struct {
    const char *name, *value;
    enum list_filter filter;
  } given[] = {{"provider", args->provider, BY_PROVIDER},
               {"region", args->region, BY_REGION},
               {"gpu", args->gpu, BY_GPU},
               {"as-of", args->as_of, BY_DATE}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i].value && !(list->filters & given[i].filter))
      return hr_fail(error, HR_BAD_INPUT, "option '--%s' does not go with 'list %s'", given[i].name, list->name);
  return list->print(args, error);
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const char *names[N_LISTS + 1] = {0};
  for (size_t i = 0; i < N_LISTS; i++) {
    if (strcmp(lists[i].name, operands->at[0]) == 0) return print_list(&lists[i], args, error);
    names[i] = lists[i].name;
  }
  return unknown_word("list", operands->at[0], names, error);
}

const struct verb verb_list = {
    .name = "list",
    .operands = "WHAT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "show policies, placement rules, trace formats, scenarios, GPU types, instances or prices",
    .details = details,
    .options = options,
    .args_bytes = sizeof(struct list_args),
    .run = run_verb};
