/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of fields in docs/reference/formats/ equal those that are generated from the table of job fields. To write
   the generated tables to the pages, run `test_traces field_pages 1`. */
#include "harness.h"

#include "traces/csv/csv.h"

#include <inttypes.h>
#include <string.h>

#define BEGIN_MARK "<!-- generated: test_traces field_pages 1 -->\n"
#define END_MARK "<!-- end -->\n"

struct table {
  FILE *out;
  char *text;
  size_t size;
};

static void print_words(FILE *out, const char *const *words, size_t count, bool numbered) {
  const char *separator = "";
  for (size_t i = 0; i < count; i++) {
    if (numbered) fprintf(out, "%s%zu %s", separator, i, *words[i] ? words[i] : "unknown");
    if (!numbered && *words[i]) fprintf(out, "%s`%s`", separator, words[i]);
    if (numbered || *words[i]) separator = ", ";
  }
}

static void print_words_of(FILE *out, enum hr__kind kind, bool numbered) {
#define WORD(name, text) text,
  static const char *const classes[] = {HR_JOB_CLASS_TABLE(WORD)};
  static const char *const outcomes[] = {HR_OUTCOME_TABLE(WORD)};
  static const char *const tiers[] = {HR_TIER_TABLE(WORD)};
#undef WORD
  if (kind == HR__CLASS) print_words(out, classes, HR_N_CLASSES, numbered);
  if (kind == HR__STATUS) print_words(out, outcomes, HR_N_OUTCOMES, numbered);
  if (kind == HR__TIER) print_words(out, tiers, HR_TIER_POOL, numbered);
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

/* Prints the values that a field may have in text. The bounds of numbers are those of their kind. */
static void print_values(FILE *out, enum hr__kind kind) {
  static const char *const numbers[][2] = {
#define NUMBER(kind, type, factor, min, max, whole, right, max_text) [kind] = {right, max_text},
      HR__NUMBER_KIND_TABLE(NUMBER)
#undef NUMBER
  };
  if (kind < HR__N_NUMBER_KINDS) {
    fputs(strchr(numbers[kind][0], ' ') + 1, out); /* without the article */
    if (!strstr(numbers[kind][0], " to ")) fprintf(out, ", at most %s", numbers[kind][1]);
  } else if (kind == HR__INSTANT) {
    fputs("seconds or a date", out);
  } else if (kind == HR__PRIORITY) {
    fputs("whole number", out);
  } else if (kind == HR__TEXT) {
    fputs("any text", out);
  } else if (kind == HR__LIST) {
    fputs("texts separated by `\\|`", out);
  } else if (kind == HR__DEDICATED || kind == HR__INTERRUPTIBLE) {
    fputs("`true` or `false`", out);
  } else {
    print_words_of(out, kind, false);
  }
}

/* Prints the value of a field that is missing. */
static void print_default(FILE *out, enum hr__kind kind, bool required, int64_t unknown) {
  if (required)
    fputs("**required**", out);
  else if (kind == HR__TASKS || kind == HR__GPU_SHARE || kind == HR__PRIORITY)
    fprintf(out, "%" PRId64, unknown);
  else if (kind == HR__GPU_BOUND)
    fputs("`gpus`", out);
  else if (kind == HR__DEDICATED || kind == HR__INTERRUPTIBLE)
    fprintf(out, "`%s`", kind == HR__DEDICATED ? "false" : "true");
  else
    fputs("unknown", out);
}

static void csv_row(FILE *out, const char *key, const char *column, enum hr__kind kind, bool required, int64_t unknown,
                    const char *help) {
  fprintf(out, "| `%s` | `%s` | ", column, key);
  print_values(out, kind);
  fputs(" | ", out);
  print_default(out, kind, required, unknown);
  fprintf(out, " | %s |\n", help);
}

static void print_csv_table(FILE *out) {
  fputs("| column | key in a column map | value | default | meaning |\n|---|---|---|---|---|\n", out);
#define ID(key, column, help) csv_row(out, key, column, HR__TEXT, false, 0, help);
#define VALUE(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, fault, help)     \
  csv_row(out, key, column, HR__##kind, required, (int64_t)(unknown), help);
#define NAME(id, member, kind, key, column, section, set_id, set, set_section, help)                                   \
  csv_row(out, key, column, HR__##kind, false, 0, help);
#define FLAG(kind, key, column, bit, help) csv_row(out, key, column, HR__##kind, false, 0, help);
  HR_JOB_CSV_TABLE(ID, VALUE, NAME, FLAG)
#undef ID
#undef VALUE
#undef NAME
#undef FLAG
}

/* ---- Packed files ----------------------------------------------------------------------------------- */

struct section {
  const char *type, *set, *help;
};

static const struct section sections[HR__COLUMN_ID] = {
#define VALUE(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, fault, help)     \
  [section] = {#type, NULL, help},
#define NAME(id, member, kind, key, column, section, set_id, set, set_section, help)                                   \
  [section] = {"uint32_t", #set, help},
    HR_JOB_COLUMN_TABLE(VALUE, NAME)
#undef VALUE
#undef NAME
};

static void packed_row(FILE *out, enum hr__column_id id) {
  const struct hr__column_type *column = &hr__columns[id];
  const struct section *section = &sections[id];
  size_t length = strlen(column->name);
  if (column->name[length - 1] == '_') length--;
  fprintf(out, "| `%.*s` | %.*s | ", (int)length, column->name, (int)strlen(section->type) - 2, section->type);
  const struct hr__value_range range = hr__column_range(&(struct hr_trace){0}, id);
  const bool may_be_unknown = range.first + 1 == (column->kind == HR__INSTANT ? 0 : column->min);
  if (section->set)
    fprintf(out, "index into `%s`; %u: none", section->set, HR_NONE);
  else if (column->kind == HR__INSTANT)
    fputs(may_be_unknown ? "from the first submit; -1: unknown" : "from the first submit", out);
  else if (column->width == 1 && column->kind != HR__FLAGS)
    print_words_of(out, column->kind, true);
  else if (may_be_unknown && column->width == sizeof(int64_t))
    fputs("-1: unknown", out);
  else if (may_be_unknown)
    fprintf(out, "%u: unknown", HR_NONE);
  fprintf(out, " | %s |\n", section->help);
}

static void print_packed_table(FILE *out) {
  fputs("| section | type of an entry | value | meaning |\n|---|---|---|---|\n", out);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++) packed_row(out, id);
}

/* ---- Pages ------------------------------------------------------------------------------------------ */

static char *page_text(const char *path) {
  enum { MAX_BYTES = 1 << 17 };
  FILE *file = fopen(path, "r");
  char *text = calloc(1, MAX_BYTES);
  if (!file || !text) abort();
  size_t length = fread(text, 1, MAX_BYTES - 1, file);
  CU_ASSERT(length > 0 && length < MAX_BYTES - 1);
  fclose(file);
  return text;
}

static void expect_page(const char *path, void (*print_table)(FILE *out)) {
  char *page = page_text(path), *begin = strstr(page, BEGIN_MARK), *end = strstr(page, END_MARK);
  CU_ASSERT_FATAL(begin && end && begin < end);
  struct table table = {0};
  table.out = open_memstream(&table.text, &table.size);
  print_table(table.out);
  fclose(table.out);
  begin += strlen(BEGIN_MARK);
  bool same = (size_t)(end - begin) == table.size && memcmp(begin, table.text, table.size) == 0;
  if (!same && test_argument(1, 0)) {
    FILE *file = fopen(path, "w");
    fprintf(file, "%.*s%s%s", (int)(begin - page), page, table.text, end);
    CU_ASSERT_EQUAL(fclose(file), 0);
  } else if (!same) {
    fprintf(stderr, "\n    %s: the table of fields is out of date; run 'test_traces field_pages 1'\n", path);
    CU_ASSERT(same);
  }
  free(table.text);
  free(page);
}

static void the_table_of_csv_columns_is_current(void) {
  expect_page(PROJECT_DIR "/docs/reference/formats/headroom-csv.md", print_csv_table);
}

static void the_table_of_packed_columns_is_current(void) {
  expect_page(PROJECT_DIR "/docs/reference/formats/packed.md", print_packed_table);
}

TEST_MAIN("pages of job fields", TEST(the_table_of_csv_columns_is_current),
          TEST(the_table_of_packed_columns_is_current))
