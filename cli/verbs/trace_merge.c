/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace merge`: merges several traces into one, and several tenants into one. */

#include "cli/cli.h"
#include "cli/verbs/trace_transform.h"
#include "headroom/unstable/trace_tools.h"

#include <stdlib.h>
#include <string.h>

struct trace_merge_args {
  struct transform_args base;
  const char *align, *labels;
  struct words merge_tenants;
  bool keep_ids, tenant_prefix;
};

#define AT(field) offsetof(struct trace_merge_args, field)
static const struct option options[] = {
    {.name = "align",
     .kind = OPTION_TEXT,
     .offset = AT(align),
     .value = "HOW",
     .help = "clock: keep each trace's own clock; start: shift each trace to begin when the first one does (default: "
             "clock)"},
    {.name = "labels",
     .kind = OPTION_TEXT,
     .offset = AT(labels),
     .value = "A,B,...",
     .help = "labels of the traces, one word each (default: their file names)"},
    {.name = "keep-ids",
     .kind = OPTION_FLAG,
     .offset = AT(keep_ids),
     .help = "keep job ids, which must be distinct, instead of putting 'LABEL/' before each"},
    {.name = "tenant-prefix",
     .kind = OPTION_FLAG,
     .offset = AT(tenant_prefix),
     .help = "also put 'LABEL/' before tenants and users, so that those of different traces are distinct"},
    {.name = "merge-tenants",
     .kind = OPTION_LIST,
     .offset = AT(merge_tenants),
     .value = "A+B=NAME",
     .help = "merge tenants A, B and more into NAME; may be repeated"},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "Jobs with equal submit times are in the order of the traces. A single\n"
                              "trace is accepted, to merge its tenants; add --keep-ids to leave its job ids\n"
                              "unchanged. See docs/reference/traces.md.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom trace merge east.csv west.csv --tenant-prefix -o both.csv\n"
                              "  headroom trace merge jobs.csv --keep-ids --merge-tenants cv+nlp=research \\\n"
                              "    -o merged.csv\n";

static void set_defaults(void *args) {
  *(struct trace_merge_args *)args = (struct trace_merge_args){.align = "clock"};
}

struct merge_state {
  const struct trace_merge_args *args;
  struct hr_merge_spec spec;
  char **labels; /* [n] */
  size_t n;
  struct hr_tenant_merge *tenants; /* [merge_tenants.count] */
  struct words *from;              /* [merge_tenants.count] names of the tenants to merge */
  char **texts;                    /* [merge_tenants.count] copies of the options; the names point into them */
};

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* ---- Labels ----------------------------------------------------------------------------------------- */

/* Returns "jobs" for "folder/jobs.csv.gz" and "stdin" for "-". The caller frees it. */
static char *label_of_path(const char *path) {
  if (strcmp(path, "-") == 0) return strdup("stdin");
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t length = strcspn(name, ".");
  return length ? strndup(name, length) : strdup(name);
}

/* Copies the next word of a comma-separated list and advances *list. The caller frees the copy. NULL at the end of the
   list, or when out of memory. */
static char *next_label(const char **list) {
  if (!**list) return NULL;
  size_t length = strcspn(*list, ",");
  char *label = strndup(*list, length);
  *list += length + ((*list)[length] == ',');
  return label;
}

static enum hr_status check_count(const struct merge_state *merge, struct hr_error *error) {
  const char *labels = merge->args->labels;
  size_t count = 1;
  for (const char *at = labels; *at; at++) count += *at == ',';
  bool empty = !*labels || *labels == ',' || strstr(labels, ",,") || labels[strlen(labels) - 1] == ',';
  if (count == merge->n && !empty) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--labels %.200s: expected %zu words separated by commas, one for each trace",
                 labels, merge->n);
}

static enum hr_status make_labels(struct merge_state *merge, const struct words *paths, struct hr_error *error) {
  const char *list = merge->args->labels;
  merge->n = paths->count;
  merge->labels = calloc(merge->n, sizeof *merge->labels);
  if (!merge->labels) return no_memory(error);
  enum hr_status status = list ? check_count(merge, error) : HR_OK;
  for (size_t i = 0; status == HR_OK && i < merge->n; i++) {
    merge->labels[i] = list ? next_label(&list) : label_of_path(paths->at[i]);
    if (!merge->labels[i]) status = no_memory(error);
    for (size_t j = 0; status == HR_OK && j < i; j++)
      if (strcmp(merge->labels[i], merge->labels[j]) == 0)
        status = hr_fail(error, HR_BAD_INPUT,
                         "%s: its label '%.60s' is also the label of %s; set other labels with --labels A,B,...",
                         paths->at[i], merge->labels[i], paths->at[j]);
  }
  return status;
}

/* ---- Tenants ---------------------------------------------------------------------------------------- */

static enum hr_status parse_tenants(struct merge_state *merge, size_t number, struct hr_error *error) {
  const char *option = merge->args->merge_tenants.at[number];
  char *text = merge->texts[number] = strdup(option), *equals = text ? strrchr(text, '=') : NULL;
  if (!text) return no_memory(error);
  enum hr_status status = HR_OK;
  bool good = equals && equals > text && equals[1];
  if (good) *equals = '\0';
  for (char *at = text, *plus; status == HR_OK && good && at; at = plus ? plus + 1 : NULL) {
    plus = strchr(at, '+');
    if (plus) *plus = '\0';
    good = *at != '\0';
    status = words_add(&merge->from[number], at, error);
  }
  if (!good)
    return hr_fail(error, HR_BAD_INPUT, "--merge-tenants %.200s: expected A+B=NAME, such as vision+speech=research",
                   option);
  const struct words *from = &merge->from[number];
  merge->tenants[number] = (struct hr_tenant_merge){{from->at, from->count}, equals + 1};
  return status;
}

static enum hr_status make_tenants(struct merge_state *merge, struct hr_error *error) {
  size_t n = merge->args->merge_tenants.count;
  merge->tenants = calloc(n + 1, sizeof *merge->tenants);
  merge->from = calloc(n + 1, sizeof *merge->from);
  merge->texts = calloc(n + 1, sizeof *merge->texts);
  if (!merge->tenants || !merge->from || !merge->texts) return no_memory(error);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < n; i++) status = parse_tenants(merge, i, error);
  return status;
}

static void merge_finish(struct merge_state *merge) {
  for (size_t i = 0; merge->labels && i < merge->n; i++) free(merge->labels[i]);
  for (size_t i = 0; merge->from && i < merge->args->merge_tenants.count; i++) words_finish(&merge->from[i]);
  for (size_t i = 0; merge->texts && i < merge->args->merge_tenants.count; i++) free(merge->texts[i]);
  free(merge->labels);
  free(merge->tenants);
  free(merge->from);
  free(merge->texts);
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status find_align(const char *name, enum hr_align *align, struct hr_error *error) {
  static const char *const known[] = {
#define ALIGN_WORD(name, text) text,
      HR_ALIGN_TABLE(ALIGN_WORD)
#undef ALIGN_WORD
          NULL};
  for (int i = 0; i < HR_N_ALIGNS; i++) {
    *align = (enum hr_align)i;
    if (strcmp(known[i], name) == 0) return HR_OK;
  }
  return unknown_word("alignment", name, known, error);
}

static enum hr_status read_options(struct merge_state *merge, const struct words *paths, struct hr_error *error) {
  const struct trace_merge_args *args = merge->args;
  enum hr_status status = find_align(args->align, &merge->spec.align, error);
  if (status == HR_OK && args->keep_ids && args->tenant_prefix)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-ids cannot be combined with --tenant-prefix, which needs labels");
  if (status == HR_OK && args->keep_ids && args->labels)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-ids cannot be combined with --labels");
  if (status == HR_OK && !args->keep_ids) status = make_labels(merge, paths, error);
  if (status == HR_OK) status = make_tenants(merge, error);
  merge->spec.labels = (const char *const *)merge->labels;
  merge->spec.renames_tenants = args->tenant_prefix;
  merge->spec.tenants = merge->tenants;
  merge->spec.n_tenants = args->merge_tenants.count;
  return status;
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  struct merge_state merge = {.args = args};
  struct transform transform = {.args = &merge.args->base, .paths = operands, .action = "merge"};
  transform.method = merge.args->align;
  enum hr_status status = read_options(&merge, operands, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  if (status == HR_OK)
    status = hr_transform_merge((const struct hr_trace *const *)transform.traces, operands->count, &merge.spec,
                                &transform.result, error);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  merge_finish(&merge);
  return status;
}

const struct verb verb_trace_merge = {.name = "trace merge",
                                      .operands = "TRACE...",
                                      .min_operands = 1,
                                      .max_operands = SIZE_MAX,
                                      .summary = "merge several traces into one",
                                      .details = details,
                                      .options = options,
                                      .args_bytes = sizeof(struct trace_merge_args),
                                      .set_defaults = set_defaults,
                                      .run = run};
