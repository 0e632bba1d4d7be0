/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of speeds. CSV: model, gpu, then speed or throughput, and gpus where it was measured on more than one GPU. JSON
 * as published with Gavel (Narayanan et al., OSDI'20): by GPU type, then by "('MODEL', GPUS)", what was measured;
 * "null" is the job alone, all else are pairs that share a GPU. Types that end in "_unconsolidated" are the same GPUs
 * with jobs spread over nodes, and left aside.
 */

#include "scenarios/speed_figures.h"

#include "headroom/cluster.h"
#include "scenarios/table.h"
#include "traces/json_file.h"
#include "traces/json_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list --------------------------------------------------------------------------------------- */

static const char *intern(struct hr__speed_figures *figures, const char *text) {
  uint32_t number = hr__names_intern(&figures->texts, text, strlen(text));
  return number == HR_NONE ? NULL : figures->texts.text[number];
}

enum hr_status hr__speed_figures_add(struct hr__speed_figures *figures, const char *model, const char *gpu,
                                     struct hr__speed_figure figure) {
  figure.model = intern(figures, model);
  figure.gpu = intern(figures, gpu);
  if (!figure.model || !figure.gpu) return HR_NO_MEMORY;
  if (figures->count == figures->capacity) {
    size_t capacity = figures->capacity ? 2 * figures->capacity : 64;
    struct hr__speed_figure *grown = realloc(figures->at, capacity * sizeof *grown);
    if (!grown) return HR_NO_MEMORY;
    figures->at = grown;
    figures->capacity = capacity;
  }
  figures->at[figures->count++] = figure;
  return HR_OK;
}

void hr__speed_figures_finish(struct hr__speed_figures *figures) {
  free(figures->at);
  hr__names_finish(&figures->texts);
  *figures = (struct hr__speed_figures){0};
}

static bool parse_gpus(const char *text, uint32_t *gpus) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  *gpus = (uint32_t)value;
  return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value >= 1 && value <= HR_MAX_GPUS;
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

struct row {
  const char *model, *gpu, *gpus;
  double speed, throughput; /* HR_UNTOLD where not said */
};

#define UNTOLD (-1.0)

static const char *check_row(void *draft) {
  const struct row *row = draft;
  uint32_t gpus;
  if (row->gpus[0] && !parse_gpus(row->gpus, &gpus)) return "column 'gpus' is not a whole number from 1 to 4000000";
  bool has_speed = row->speed != UNTOLD, has_throughput = row->throughput != UNTOLD;
  return has_speed != has_throughput ? NULL : "a row has a 'speed' or a 'throughput', one of them";
}

#define COLUMN(column, kind, is_key, may_miss)                                                                         \
  {                                                                                                                    \
    .name = #column, .cell = kind, .offset = offsetof(struct row, column), .key = is_key, .optional = may_miss,        \
    .max = HR__MOST_SPEED_FIGURE                                                                                       \
  }
static const struct hr__column columns[] = {
    COLUMN(model, HR__CELL_TEXT, true, false), COLUMN(gpu, HR__CELL_TEXT, true, false),
    COLUMN(gpus, HR__CELL_TEXT, true, true), COLUMN(speed, HR__CELL_NUMBER, false, true),
    COLUMN(throughput, HR__CELL_NUMBER, false, true)};

static const struct hr__table_format format = {.name = "speeds",
                                               .columns = columns,
                                               .n_columns = sizeof columns / sizeof *columns,
                                               .row_bytes = sizeof(struct row),
                                               .draft_bytes = sizeof(struct row),
                                               .finish = check_row};

static enum hr_status take_rows(struct hr__speed_figures *figures, const struct hr__table *table) {
  const struct row *rows = table->rows;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < table->count && status == HR_OK; i++) {
    struct hr__speed_figure figure = {.gpus = 1, .line = table->line[i]};
    figure.is_throughput = rows[i].throughput != UNTOLD;
    figure.figure = figure.is_throughput ? rows[i].throughput : rows[i].speed;
    if (rows[i].gpus[0]) (void)parse_gpus(rows[i].gpus, &figure.gpus);
    status = hr__speed_figures_add(figures, rows[i].model, rows[i].gpu, figure);
  }
  return status;
}

static enum hr_status read_csv(struct hr__speed_figures *figures, const char *path, struct hr_error *error) {
  struct hr__table table = {.format = &format};
  struct hr__names texts = {0};
  enum hr_status status = hr__table_add_file(&table, path, &texts, error);
  if (status == HR_OK && take_rows(figures, &table) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  hr__table_finish(&table);
  hr__names_finish(&texts);
  return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* The way to the value at hand: GPU type, model, "null". */
struct walk {
  struct hr__speed_figures *figures;
  const struct hr__json_file *file;
  const char *path;
  struct hr_error *error;
  uint32_t ordinal[3];
};

static enum hr_status fail(const struct walk *walk, size_t depth, bool at_key, const char *words) {
  struct hr__json_position at =
      hr__json_position(walk->file->text, hr__json_find(walk->file->text, walk->ordinal, depth, at_key));
  return hr_fail(walk->error, HR_BAD_INPUT, "%s:%zu:%zu: %s", walk->path, at.line, at.column, words);
}

/* "('ResNet-18 (batch size 16)', 2)": what stands in quotes, and how many GPUs. */
static bool split_key(const char *key, char *model, size_t size, uint32_t *gpus) {
  const char *end = strrchr(key, ',');
  size_t length = strlen(key);
  if (length < 8 || key[0] != '(' || (key[1] != '\'' && key[1] != '"') || key[length - 1] != ')') return false;
  if (!end || end < key + 4 || end[-1] != key[1] || end[1] != ' ') return false;
  char number[16];
  size_t digits = (size_t)(key + length - 1 - (end + 2)), letters = (size_t)(end - 1 - (key + 2));
  if (digits == 0 || digits >= sizeof number || letters >= size) return false;
  memcpy(number, end + 2, digits);
  number[digits] = '\0';
  memcpy(model, key + 2, letters);
  model[letters] = '\0';
  return parse_gpus(number, gpus);
}

static enum hr_status take_alone(struct walk *walk, const char *gpu, const cJSON *measured) {
  struct hr__speed_figure figure = {.is_throughput = true};
  char model[200];
  if (!split_key(measured->string, model, sizeof model, &figure.gpus))
    return fail(walk, 2, true, "a model and its GPUs are wanted, as \"('ResNet-18', 1)\"");
  const cJSON *alone = cJSON_IsObject(measured) ? measured->child : NULL;
  for (walk->ordinal[2] = 0; alone && strcmp(alone->string, "null") != 0; walk->ordinal[2]++) alone = alone->next;
  if (!alone) return fail(walk, 2, false, "the throughput of the job alone is wanted, as {\"null\": 12.5}");
  figure.figure = alone->valuedouble;
  if (!cJSON_IsNumber(alone) || !(figure.figure >= 0 && figure.figure <= HR__MOST_SPEED_FIGURE))
    return fail(walk, 3, false, "a throughput is a number from 0 to 1e9");
  struct hr__json_position at =
      hr__json_position(walk->file->text, hr__json_find(walk->file->text, walk->ordinal, 3, false));
  figure.line = at.line;
  figure.column = at.column;
  return hr__speed_figures_add(walk->figures, model, gpu, figure) == HR_OK
             ? HR_OK
             : hr_fail(walk->error, HR_NO_MEMORY, "%s: out of memory", walk->path);
}

static bool is_spread(const char *gpu) {
  static const char ending[] = "_unconsolidated";
  size_t length = strlen(gpu), tail = sizeof ending - 1;
  return length > tail && strcmp(gpu + length - tail, ending) == 0;
}

static enum hr_status take_tree(struct walk *walk) {
  if (!cJSON_IsObject(walk->file->tree)) return fail(walk, 0, false, "an object {...} of GPU types is wanted");
  for (const cJSON *gpu = walk->file->tree->child; gpu; gpu = gpu->next, walk->ordinal[0]++) {
    if (is_spread(gpu->string)) continue;
    if (!cJSON_IsObject(gpu)) return fail(walk, 1, false, "an object {...} of models is wanted");
    walk->ordinal[1] = 0;
    for (const cJSON *measured = gpu->child; measured; measured = measured->next, walk->ordinal[1]++) {
      enum hr_status status = take_alone(walk, gpu->string, measured);
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

static enum hr_status read_json(struct hr__speed_figures *figures, const char *path, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) return status;
  struct walk walk = {.figures = figures, .file = &file, .path = path, .error = error};
  status = take_tree(&walk);
  hr__json_file_finish(&file);
  return status;
}

enum hr_status hr__speed_figures_read(struct hr__speed_figures *figures, const char *path, struct hr_error *error) {
  size_t length = strlen(path);
  bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
  return is_json ? read_json(figures, path, error) : read_csv(figures, path, error);
}
