/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom list`: lists policies, trace formats, metrics, shipped scenarios and keys, 80 columns wide; keys also as a
   table in Markdown or a JSON Schema. The tables of the catalogue are printed by list_catalog.c. With --verbose,
   details that do not fit and the sources of the values are printed too. */

#include "cli/cli.h"

#include "cli/options.h"
#include "headroom/headroom.h"
#include "headroom/unstable/capacity.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/trace_tools.h"

#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct list_args, verbose),
     .help = "print parameters of policies, definitions of metrics, sources of figures, full descriptions"},
    {.name = "provider",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, provider),
     .value = "NAME",
     .help = "only instances, prices, discounts and presets of this provider"},
    {.name = "region",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, region),
     .value = "NAME",
     .help = "prices in this region instead of each provider's base region; presets of this region"},
    {.name = "gpu",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, gpu),
     .value = "TYPE",
     .help = "only MIG profiles, instances, prices and presets of this GPU, under any of its names (list gpu-names)"},
    {.name = "as-of",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, as_of),
     .value = "DATE",
     .help = "prices and discounts on a day (2025-05-01), in a month (2025-05) or a year (2025)"},
    {.name = "path",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct list_args, path),
     .value = "BEGIN",
     .help = "only metrics with paths that begin with this, such as wait_s or cost."},
    {.name = "schema",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct list_args, schema),
     .help = "print the keys as a JSON Schema of scenarios"},
    {.name = "markdown",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct list_args, markdown),
     .help = "print the keys as a table in Markdown"},
    {0}};

static const char details[] = "policies      scheduling policies and aliases for their settings; -v: parameters\n"
                              "placements    rules of 'headroom fill' that choose node and GPUs of a task\n"
                              "formats       trace formats that can be read\n"
                              "fields        fields for --map and for 'trace anonymise --drop'\n"
                              "findings      kinds of findings of 'trace check', and what they mean\n"
                              "metrics       metrics: path in JSON, unit, better direction; -v: definitions\n"
                              "scenarios     scenario files that ship with Headroom\n"
                              "keys          keys of scenarios, or those of a PATH; -v: the whole help\n"
                              "gpus          GPU types: memory, speed, power\n"
                              "gpu-names     names of GPU types in Slurm, Kubernetes, clouds and nvidia-smi\n"
                              "mig-profiles  MIG profiles: slices, memory, positions; -v: drawings, layouts\n"
                              "network-speeds\n              relative speed of models on several nodes, by network\n"
                              "region-links\n              bandwidth and price of data between regions of clouds\n"
                              "instances     instance types of providers: GPUs, processors, memory, disks\n"
                              "prices        USD per hour of an instance and of a GPU, by market and term\n"
                              "discounts     discounts of commitments and spot from the on-demand price\n"
                              "spot-presets  models of spot interruptions\n"
                              "\nFigures are quoted from a source, derived, assumed or mixed; -v prints sources.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom list scenarios\n"
                              "  headroom list keys cluster.pools.0.topology\n"
                              "  headroom list prices --provider aws --gpu H100 --as-of 2025-05\n";

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

/* Prints a name in its column. The text that follows starts in the next column; after a long name it starts on the next
   line. */
static void print_name(const char *name) {
  printf("%-*s", NAME_COLUMN, name);
  if (strlen(name) >= NAME_COLUMN) printf("\n%*s", NAME_COLUMN, "");
}

static void print_setting(const struct hr_policy_setting *setting) {
  print_name(setting->name);
  printf("alias for %s:", setting->policy);
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
    printf("column %s%s\n", at->column, at->must_exist ? ", required" : "");
  }
  return HR_OK;
}

static enum hr_status list_findings(const struct list_args *args, struct hr_error *error) {
  (void)args;
  (void)error;
  for (int code = 0; code < HR_N_FINDINGS; code++) {
    const char *meaning = hr_finding_meaning((enum hr_finding_code)code);
    print_name(hr_finding_name((enum hr_finding_code)code));
    print_wrapped(stdout, meaning ? meaning : "(for information)", NAME_COLUMN, NAME_COLUMN);
  }
  return HR_OK;
}

/* ---- Metrics ---------------------------------------------------------------------------------------- */

static enum hr_status list_metrics(const struct list_args *args, struct hr_error *error) {
  enum { PATH_WIDTH = 30, UNIT_WIDTH = 10, BETTER_WIDTH = 7, TITLE_AT = PATH_WIDTH + UNIT_WIDTH + BETTER_WIDTH };
  const struct hr_metric *metrics;
  size_t n_metrics = hr_metrics(&metrics), n_listed = 0;
  for (size_t i = 0; i < n_metrics; i++) {
    const struct hr_metric *metric = &metrics[i];
    if (args->path && strncmp(metric->path, args->path, strlen(args->path)) != 0) continue;
    if (n_listed++ == 0)
      printf("%-*s%-*s%-*s%s\n", PATH_WIDTH, "metric", UNIT_WIDTH, "unit", BETTER_WIDTH, "better", "title");
    printf("%-*s", PATH_WIDTH, metric->path);
    if (strlen(metric->path) >= PATH_WIDTH) printf("\n%*s", PATH_WIDTH, "");
    printf("%-*s%-*s", UNIT_WIDTH, hr_unit_name(metric->unit), BETTER_WIDTH, hr_direction_name(metric->direction));
    print_wrapped(stdout, metric->title, TITLE_AT, TITLE_AT);
    if (!args->verbose) continue;
    printf("    ");
    print_wrapped(stdout, metric->help, 4, 4);
  }
  return n_listed ? HR_OK : hr_fail(error, HR_BAD_INPUT, "list metrics: no metric begins with '%.60s'", args->path);
}

/* ---- Scenarios -------------------------------------------------------------------------------------- */

/* Prints the first sentence, up to a colon or a full stop. */
static void print_first_sentence(const char *description) {
  char sentence[200];
  size_t length = strcspn(description, ":");
  const char *stop = strstr(description, ". ");
  if (stop && (size_t)(stop - description) < length) length = (size_t)(stop - description);
  snprintf(sentence, sizeof sentence, "%.*s", (int)length, description);
  print_wrapped(stdout, sentence, NAME_COLUMN, NAME_COLUMN);
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
      print_first_sentence(entries[i].description);
    printf("%*s%s\n", NAME_COLUMN, "", entries[i].path);
  }
  hr_scenario_list_free(entries, count);
  return HR_OK;
}

/* ---- Keys of scenario files --------------------------------------------------------------------------- */

static void write_facts(FILE *out, const void *what) {
  const struct hr_scenario_key *key = what;
  fputs(key->type, out);
  if (key->unit) fprintf(out, ", in %s", key->unit);
  if (key->required) fputs("; required", out);
  if (key->fallback) fprintf(out, "; default: %s", key->fallback);
  if (key->only_with) fprintf(out, "; only with %s", key->only_with);
  if (key->newer) fprintf(out, "; old name of %s", key->newer);
}

static void write_first_sentence(FILE *out, const void *what) {
  const struct hr_scenario_key *key = what;
  const char *stop = strstr(key->help, ". ");
  fprintf(out, "%.*s", stop ? (int)(stop - key->help) + 1 : (int)strlen(key->help), key->help);
}

static void print_key(const struct hr_scenario_key *key, bool verbose) {
  printf("%s\n    ", key->path);
  print_wrapped_from(stdout, write_facts, key, 4, 4);
  if (!key->help || !key->help[0]) return;
  printf("    ");
  if (verbose)
    print_wrapped(stdout, key->help, 4, 4);
  else
    print_wrapped_from(stdout, write_first_sentence, key, 4, 4);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

/* Prints a cell of a table. Some characters have a meaning in Markdown. */
static void print_cell(const char *text) {
  putchar(' ');
  for (; *text; text++) {
    if (strchr("|<*_", *text)) putchar('\\');
    putchar(*text);
  }
  fputs(" |", stdout);
}

/* Tables omit long lists of choices, which are in the reference of rules. */
static void print_row(const struct hr_scenario_key *key, const char *name) {
  enum { LONG_LIST = 100 };
  char text[900];
  bool is_long = strncmp(key->type, "one of ", strlen("one of ")) == 0 && strlen(key->type) > LONG_LIST;
  int help_length = (int)(is_long ? strcspn(key->help, ":") : strlen(key->help));
  printf("| `%s` |", name);
  snprintf(text, sizeof text, "%s%s%s", is_long ? "one of many names" : key->type, key->unit ? ", in " : "",
           key->unit ? key->unit : "");
  print_cell(text);
  print_cell(key->required ? "required" : key->fallback ? key->fallback : "");
  snprintf(text, sizeof text, "%.*s%s%s%s%s", help_length, key->help,
           is_long ? ". [rules.md](rules.md) has all names." : "", key->only_with ? " Only with " : "",
           key->only_with ? key->only_with : "", key->only_with ? "." : "");
  print_cell(text);
  putchar('\n');
}

/* Returns the name of the key in the object at `path`, or in the entries of the list at `path`; NULL if it is not a
   member. */
static const char *name_in(const struct hr_scenario_key *key, const char *path) {
  size_t length = strlen(path);
  if (strncmp(key->path, path, length) != 0) return NULL;
  const char *name = key->path + length;
  if (length && *name++ != '.') return NULL;
  if (strncmp(name, "*.", 2) == 0) name += 2;
  return *name && !strchr(name, '.') && key->help ? name : NULL;
}

/* Prints a table for each object: that at `path`, and those below it. */
static void print_tables(const struct hr_scenario_key *keys, size_t count, const char *path) {
  for (size_t i = 0; i <= count; i++) {
    const char *object = i ? keys[i - 1].path : path;
    bool has_head = false;
    size_t length = strlen(object);
    if ((i && strcmp(object, path) == 0) || (length > 1 && strcmp(object + length - 2, ".*") == 0)) continue;
    for (size_t k = 0; k < count; k++) {
      const char *name = name_in(&keys[k], object);
      if (!name) continue;
      if (!has_head)
        printf("%s`%s`:\n\n| key | type | default | meaning |\n|---|---|---|---|\n", i ? "\n" : "",
               *object ? object : "(scenario)");
      has_head = true;
      print_row(&keys[k], name);
    }
  }
}

/* Lists the members of the key `path`, or all keys: as text, as a table in Markdown, or as a JSON Schema. */
static enum hr_status list_keys(const char *path, const struct list_args *args, struct hr_error *error) {
  struct hr_scenario_key *keys;
  size_t count;
  char *json;
  if (args->schema) {
    enum hr_status status = hr_scenario_schema(&json, error);
    if (status == HR_OK) fputs(json, stdout);
    if (status == HR_OK) free(json);
    return status;
  }
  enum hr_status status = hr_scenario_keys(path, &keys, &count, error);
  if (status != HR_OK) return status;
  if (args->markdown) print_tables(keys, count, path);
  for (size_t i = 0; i < count && !args->markdown; i++) print_key(&keys[i], args->verbose);
  hr_scenario_keys_free(keys, count);
  return HR_OK;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

enum list_filter {
  BY_PROVIDER = 1,
  BY_REGION = 2,
  BY_GPU = 4,
  BY_DATE = 8,
  BY_PATH = 16,
  OF_CATALOG = 32,
  OF_KEYS = 64
};

static const struct list_list {
  const char *name;
  enum hr_status (*print)(const struct list_args *args, struct hr_error *error); /* NULL: see `filters` */
  unsigned filters; /* the options that apply; OF_CATALOG: list_catalog prints it; OF_KEYS: list_keys prints it */
} lists[] = {{"policies", list_policies, 0},
             {"placements", list_placements, 0},
             {"formats", list_formats, 0},
             {"fields", list_fields, 0},
             {"findings", list_findings, 0},
             {"metrics", list_metrics, BY_PATH},
             {"scenarios", list_scenarios, 0},
             {"keys", NULL, OF_KEYS},
             {"gpus", NULL, OF_CATALOG | BY_GPU},
             {"gpu-names", NULL, OF_CATALOG | BY_GPU},
             {"mig-profiles", NULL, OF_CATALOG | BY_GPU},
             {"network-speeds", NULL, OF_CATALOG},
             {"region-links", NULL, OF_CATALOG},
             {"instances", NULL, OF_CATALOG | BY_PROVIDER | BY_GPU},
             {"prices", NULL, OF_CATALOG | BY_PROVIDER | BY_REGION | BY_GPU | BY_DATE},
             {"discounts", NULL, OF_CATALOG | BY_PROVIDER | BY_DATE},
             {"spot-presets", NULL, OF_CATALOG | BY_PROVIDER | BY_REGION | BY_GPU}};
enum { N_LISTS = sizeof lists / sizeof *lists };

static enum hr_status print_list(const struct list_list *list, const struct list_args *args, const char *path,
                                 struct hr_error *error) {
  const struct {
    const char *name, *value;
    enum list_filter filter;
  } set[] = {{"provider", args->provider, BY_PROVIDER},
             {"region", args->region, BY_REGION},
             {"gpu", args->gpu, BY_GPU},
             {"as-of", args->as_of, BY_DATE},
             {"path", args->path, BY_PATH},
             {"schema", args->schema ? "" : NULL, OF_KEYS},
             {"markdown", args->markdown ? "" : NULL, OF_KEYS}};
  for (size_t i = 0; i < sizeof set / sizeof *set; i++)
    if (set[i].value && !(list->filters & set[i].filter))
      return hr_fail(error, HR_BAD_INPUT, "option '--%s' cannot be used with 'list %s'", set[i].name, list->name);
  if (path && !(list->filters & OF_KEYS))
    return hr_fail(error, HR_BAD_INPUT, "list: unexpected argument '%.60s'", path);
  if (list->filters & OF_KEYS) return list_keys(path ? path : "", args, error);
  return list->filters & OF_CATALOG ? list_catalog(list->name, args, error) : list->print(args, error);
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const char *names[N_LISTS + 1] = {0}, *path = operands->count > 1 ? operands->at[1] : NULL;
  for (size_t i = 0; i < N_LISTS; i++) {
    if (strcmp(lists[i].name, operands->at[0]) == 0) return print_list(&lists[i], args, path, error);
    names[i] = lists[i].name;
  }
  return unknown_word("list", operands->at[0], names, error);
}

const struct verb verb_list = {
    .name = "list",
    .operands = "WHAT [PATH]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "list policies, placement rules, trace formats, metrics, scenarios, keys, GPU types or prices",
    .details = details,
    .options = options,
    .args_bytes = sizeof(struct list_args),
    .run = run_verb};
