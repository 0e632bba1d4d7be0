/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom list keys`: the keys of scenario files, 80 columns wide, as a table in Markdown, or as a JSON Schema. */

#include "cli/cli.h"

#include "cli/options.h"
#include "headroom/unstable/scenario_files.h"

#include <string.h>

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

enum hr_status list_keys(const struct list_keys_args *args, struct hr_error *error) {
  struct hr_scenario_key *keys;
  size_t count;
  char *json;
  if (args->schema) {
    enum hr_status status = hr_scenario_schema(&json, error);
    if (status == HR_OK) fputs(json, stdout);
    if (status == HR_OK) free(json);
    return status;
  }
  enum hr_status status = hr_scenario_keys(args->path ? args->path : "", &keys, &count, error);
  if (status != HR_OK) return status;
  if (args->markdown) print_tables(keys, count, args->path ? args->path : "");
  for (size_t i = 0; i < count && !args->markdown; i++) print_key(&keys[i], args->verbose);
  hr_scenario_keys_free(keys, count);
  return HR_OK;
}
