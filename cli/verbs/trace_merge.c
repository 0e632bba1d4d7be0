/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transformations of `headroom trace` that change names: `merge` and `anonymise`. */

#include "cli/cli.h"

#include "cli/verbs/trace_transform.h"
#include "headroom/unstable/trace_tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Merge --------------------------------------------------------------------------------------------- */

/* `headroom trace merge`: merges several traces into one, and several tenants into one. */

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

#undef AT

/* ---- Anonymise ----------------------------------------------------------------------------------------- */

/* `headroom trace anonymise`: replaces names by keyed pseudonyms. The key never appears in a message or in an output
   file. It is erased from memory after use. */

enum { MAX_KEY_BYTES = 4096 };

struct anonymise_args {
  struct transform_args base;
  const char *key, *key_file, *shift, *drop;
  uint64_t digits;
  bool undated;
};

#define AT(field) offsetof(struct anonymise_args, field)
static const struct option anonymise_options[] = {
    {.name = "key-file",
     .kind = OPTION_TEXT,
     .offset = AT(key_file),
     .value = "FILE",
     .help = "file with the key: up to 4096 bytes, without the line end at the end"},
    {.name = "key",
     .kind = OPTION_TEXT,
     .offset = AT(key),
     .value = "TEXT",
     .help = "the key itself; other users of the machine can see it while the program runs"},
    {.name = "digits",
     .kind = OPTION_WHOLE,
     .offset = AT(digits),
     .value = "N",
     .help = "hexadecimal digits of a pseudonym",
     .min = HR_MIN_PSEUDONYM_DIGITS,
     .max = HR_MAX_PSEUDONYM_DIGITS},
    {.name = "drop",
     .kind = OPTION_TEXT,
     .offset = AT(drop),
     .value = "FIELD,...",
     .help = "remove these fields, e.g. user,model (see 'headroom list fields')"},
    {.name = "shift",
     .kind = OPTION_TEXT,
     .offset = AT(shift),
     .value = "TIME",
     .help = "move all times later, e.g. 100d, or earlier, e.g. -36h"},
    {.name = "undated",
     .kind = OPTION_FLAG,
     .offset = AT(undated),
     .help = "replace times by seconds since the first submit"},
    TRANSFORM_OPTIONS,
    {0}};

static const char anonymise_details[] =
    "Job ids, users, tenants and models become pseudonyms: j-, u-, t- or m- with\n"
    "digits of HMAC-SHA-256. The same name and key give the same pseudonym in every\n"
    "trace; without the key, names cannot be guessed and verified. Fields that affect\n"
    "a simulation are kept, and may identify a user to people who know the cluster.\n"
    "See docs/reference/traces.md.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Example:\n"
    "  headroom trace anonymise jobs.csv --key-file secret --drop model -o shared.csv\n";

static void set_anonymise_defaults(void *args) {
  *(struct anonymise_args *)args = (struct anonymise_args){.digits = HR_PSEUDONYM_DIGITS};
}

/* ---- The key ---------------------------------------------------------------------------------------- */

struct pseudonym_key {
  char bytes[MAX_KEY_BYTES + 1];
  size_t count;
};

static enum hr_status read_key(const char *path, struct pseudonym_key *key, struct hr_error *error) {
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  setvbuf(file, NULL, _IONBF, 0); /* avoids a copy of the key in a buffer */
  key->count = fread(key->bytes, 1, sizeof key->bytes, file);
  bool failed = ferror(file);
  fclose(file);
  if (failed) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read as a file", path);
  if (key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "%s: the key has more than %d bytes", path, MAX_KEY_BYTES);
  if (key->count && key->bytes[key->count - 1] == '\n') key->count--;
  if (key->count && key->bytes[key->count - 1] == '\r') key->count--;
  return key->count ? HR_OK : hr_fail(error, HR_BAD_INPUT, "%s: the file contains no key", path);
}

static enum hr_status get_key(const struct anonymise_args *args, struct pseudonym_key *key, struct hr_error *error) {
  if (!args->key == !args->key_file)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace anonymise: expected one of --key-file FILE and --key TEXT\n"
                   "Try 'headroom help trace anonymise'.");
  if (args->key_file) return read_key(args->key_file, key, error);
  key->count = strlen(args->key);
  if (key->count == 0 || key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "--key: expected a key of 1 to %d bytes", MAX_KEY_BYTES);
  memcpy(key->bytes, args->key, key->count);
  return HR_OK;
}

static void erase_key(struct pseudonym_key *key) {
  volatile char *at = key->bytes; /* prevents the compiler from removing the stores */
  for (size_t i = 0; i < sizeof key->bytes; i++) at[i] = 0;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status read_anonymise_options(const struct anonymise_args *args, const struct pseudonym_key *key,
                                             struct hr_anonymise_spec *spec, struct hr_error *error) {
  hr_anonymise_spec_init(spec);
  spec->key = key->bytes;
  spec->key_bytes = key->count;
  spec->digits = (unsigned)args->digits;
  spec->undated = args->undated;
  if (args->undated && args->shift)
    return hr_fail(error, HR_BAD_INPUT, "--undated cannot be combined with --shift: times then begin at 0");
  enum hr_status status = args->shift ? hr_span_parse("shift", args->shift, true, &spec->shift_us, error) : HR_OK;
  struct hr_error inner = {0};
  if (status == HR_OK && args->drop && hr_fields_parse(args->drop, &spec->forget, &inner) != HR_OK)
    status = hr_fail(error, HR_BAD_INPUT, "--drop %.200s: %s", args->drop, inner.text);
  return status;
}

static enum hr_status anonymise(const struct anonymise_args *args, struct transform *transform,
                                struct pseudonym_key *key, struct hr_error *error) {
  struct hr_anonymise_spec spec;
  enum hr_status status = get_key(args, key, error);
  if (status == HR_OK) status = read_anonymise_options(args, key, &spec, error);
  if (status == HR_OK) status = transform_open(transform, error);
  if (status == HR_OK) status = hr_transform_anonymise(transform->traces[0], &spec, &transform->result, error);
  return status;
}

static enum hr_status run_anonymise(const void *args, const struct words *operands, struct hr_error *error) {
  const struct anonymise_args *anonymise_args = args;
  struct transform transform = {
      .args = &anonymise_args->base, .paths = operands, .action = "anonymise", .also_read = anonymise_args->key_file};
  struct pseudonym_key key = {.count = 0};
  enum hr_status status = anonymise(anonymise_args, &transform, &key, error);
  erase_key(&key);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_anonymise = {.name = "trace anonymise",
                                          .operands = "TRACE",
                                          .min_operands = 1,
                                          .max_operands = 1,
                                          .summary = "replace names in a trace by keyed pseudonyms",
                                          .details = anonymise_details,
                                          .options = anonymise_options,
                                          .args_bytes = sizeof(struct anonymise_args),
                                          .set_defaults = set_anonymise_defaults,
                                          .run = run_anonymise};
