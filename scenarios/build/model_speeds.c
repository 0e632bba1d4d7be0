/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `models`: the speed of models on the GPU types of the pools, relative to the reference type.
 *
 * The input is a list of figures. A figure is the speed or the throughput of a model on a GPU type. The scenario
 * contains figures, and may name a file with more figures. All figures of one model on the same number of GPUs are
 * divided by the figure for the reference type, so their unit does not matter. Without a figure for the reference type,
 * the figures must be speeds relative to it. A figure of the scenario may be for a pool; it has precedence over the
 * figure for the GPU type of the pool. If no figure exists, the speed is the dense FP16 TFLOPS (tensor cores included)
 * of the GPU type, divided by that of the reference type, both from the catalogue. With "default": "same", it is 1.
 *
 * A CSV file has the columns model, gpu, speed or throughput, and optionally gpus, the number of GPUs of the
 * measurement. A JSON file has the form that was published with Gavel (Narayanan et al., OSDI'20): nested objects
 * with three levels of keys. The first key is a GPU type, the second is "('MODEL', GPUS)", the third is the
 * co-located job. The third key "null" means that the job runs alone; entries with other third keys are for two jobs
 * on one GPU and are ignored. GPU types that end in "_unconsolidated" are ignored too: they are measurements of jobs
 * that are spread over nodes.
 *
 * The result is a table of speeds in parts per million, with a row for each pair (model, GPUs) and a column for each
 * pool. An additional last row has the default speed on each pool.
 */

#include "base/containers.h"
#include "headroom/base.h"
#include "headroom/cluster.h"
#include "scenarios/build/builder.h"
#include "scenarios/catalog/catalog_tables.h"
#include "traces/json/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct speed_figure {
  const char *model, *gpu; /* interned texts; `gpu` may be the name of a pool */
  uint32_t gpus;           /* number of GPUs of the measured job */
  double figure;           /* 0: the model does not run on this type */
  bool is_throughput;      /* true: the figure is a throughput, so a figure for the reference type is required */
  size_t line, column;     /* place in the file; line 0: the figure is in the scenario; column 0: the file is CSV */
};

struct speed_figures {
  struct speed_figure *at;
  uint32_t count, capacity;
  struct hr__name_table texts;
};

#define MAX_FIGURE 1e9
#define MAX_SPEED 4000.0 /* maximum speed relative to the reference type */

/* ---- The list of figures ---------------------------------------------------------------------------- */

static const char *intern(struct speed_figures *figures, const char *text) {
  uint32_t number = hr__names_intern(&figures->texts, text, strlen(text));
  return number == HR_NONE ? NULL : figures->texts.text[number];
}

static enum hr_status add_figure(struct speed_figures *figures, const char *model, const char *gpu,
                                 struct speed_figure figure) {
  figure.model = intern(figures, model);
  figure.gpu = intern(figures, gpu);
  if (!figure.model || !figure.gpu) return HR_NO_MEMORY;
  if (!HR__ARRAY_HAS_ROOM(figures->at, figures->count, figures->capacity)) return HR_NO_MEMORY;
  figures->at[figures->count++] = figure;
  return HR_OK;
}

static void figures_finish(struct speed_figures *figures) {
  free(figures->at);
  hr__names_finish(&figures->texts);
  *figures = (struct speed_figures){0};
}

static bool parse_gpus(const char *text, uint32_t *gpus) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  *gpus = (uint32_t)value;
  return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value >= 1 && value <= HR_MAX_GPUS;
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

struct table_row {
  const char *model, *gpu, *gpus;
  double speed, throughput; /* HR_UNKNOWN_NUMBER: the cell is empty */
};

#define UNKNOWN (-1.0)

static const char *check_row(void *draft) {
  const struct table_row *row = draft;
  uint32_t gpus;
  if (row->gpus[0] && !parse_gpus(row->gpus, &gpus)) return "column 'gpus' is not a whole number from 1 to 4000000";
  bool has_speed = row->speed != UNKNOWN, has_throughput = row->throughput != UNKNOWN;
  return has_speed != has_throughput ? NULL : "a row needs 'speed' or 'throughput', and not both";
}

#define COLUMN(column, kind, is_key, may_miss)                                                                         \
  {                                                                                                                    \
    .name = #column, .cell = kind, .offset = offsetof(struct table_row, column), .key = is_key, .optional = may_miss,  \
    .max = MAX_FIGURE                                                                                                  \
  }
static const struct hr__table_column columns[] = {
    COLUMN(model, HR__CELL_TEXT, true, false), COLUMN(gpu, HR__CELL_TEXT, true, false),
    COLUMN(gpus, HR__CELL_TEXT, true, true), COLUMN(speed, HR__CELL_NUMBER, false, true),
    COLUMN(throughput, HR__CELL_NUMBER, false, true)};

static const struct hr__table_format speeds_format = {.name = "speeds",
                                                      .columns = columns,
                                                      .n_columns = sizeof columns / sizeof *columns,
                                                      .row_bytes = sizeof(struct table_row),
                                                      .draft_bytes = sizeof(struct table_row),
                                                      .finish = check_row};

static enum hr_status add_rows(struct speed_figures *figures, const struct hr__table *table) {
  const struct table_row *rows = table->rows;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < table->count && status == HR_OK; i++) {
    struct speed_figure figure = {.gpus = 1, .line = table->line[i]};
    figure.is_throughput = rows[i].throughput != UNKNOWN;
    figure.figure = figure.is_throughput ? rows[i].throughput : rows[i].speed;
    if (rows[i].gpus[0]) (void)parse_gpus(rows[i].gpus, &figure.gpus);
    status = add_figure(figures, rows[i].model, rows[i].gpu, figure);
  }
  return status;
}

static enum hr_status read_csv(struct speed_figures *figures, const char *path, struct hr_error *error) {
  struct hr__table table = {.format = &speeds_format};
  struct hr__name_table texts = {0};
  enum hr_status status = hr__table_add_file(&table, path, &texts, error);
  if (status == HR_OK && add_rows(figures, &table) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  hr__table_finish(&table);
  hr__names_finish(&texts);
  return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* State of reading the JSON file. `ordinal` is the path to the current value. It has three indexes: that of the GPU
   type, that of the key "('MODEL', GPUS)" and that of the key "null". */
struct json_walk {
  struct speed_figures *figures;
  const struct hr__json_file *file;
  const char *path;
  struct hr_error *error;
  uint32_t ordinal[3];
};

static enum hr_status fail(const struct json_walk *walk, size_t depth, bool at_key, const char *words) {
  struct hr__json_position at =
      hr__json_position(walk->file->text, hr__json_find(walk->file->text, walk->ordinal, depth, at_key));
  return hr_fail(walk->error, HR_BAD_INPUT, "%s:%zu:%zu: %s", walk->path, at.line, at.column, words);
}

/* Splits "('ResNet-18 (batch size 16)', 2)" into the model and the number of GPUs. Returns false if the key has
   another form. */
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

static enum hr_status add_measured(struct json_walk *walk, const char *gpu, const cJSON *measured) {
  struct speed_figure figure = {.is_throughput = true};
  char model[200];
  if (!split_key(measured->string, model, sizeof model, &figure.gpus))
    return fail(walk, 2, true, "a model and its GPUs are expected, as \"('ResNet-18', 1)\"");
  const cJSON *alone = cJSON_IsObject(measured) ? measured->child : NULL;
  for (walk->ordinal[2] = 0; alone && strcmp(alone->string, "null") != 0; walk->ordinal[2]++) alone = alone->next;
  if (!alone) return fail(walk, 2, false, "the throughput of the job alone is expected, as {\"null\": 12.5}");
  figure.figure = alone->valuedouble;
  if (!cJSON_IsNumber(alone) || !(figure.figure >= 0 && figure.figure <= MAX_FIGURE))
    return fail(walk, 3, false, "a throughput is a number from 0 to 1e9");
  struct hr__json_position at =
      hr__json_position(walk->file->text, hr__json_find(walk->file->text, walk->ordinal, 3, false));
  figure.line = at.line;
  figure.column = at.column;
  return add_figure(walk->figures, model, gpu, figure) == HR_OK
             ? HR_OK
             : hr_fail(walk->error, HR_NO_MEMORY, "%s: out of memory", walk->path);
}

static bool is_spread(const char *gpu) {
  static const char ending[] = "_unconsolidated";
  size_t length = strlen(gpu), tail = sizeof ending - 1;
  return length > tail && strcmp(gpu + length - tail, ending) == 0;
}

static enum hr_status add_tree(struct json_walk *walk) {
  if (!cJSON_IsObject(walk->file->tree)) return fail(walk, 0, false, "an object {...} of GPU types is expected");
  for (const cJSON *gpu = walk->file->tree->child; gpu; gpu = gpu->next, walk->ordinal[0]++) {
    if (is_spread(gpu->string)) continue;
    if (!cJSON_IsObject(gpu)) return fail(walk, 1, false, "an object {...} of models is expected");
    walk->ordinal[1] = 0;
    for (const cJSON *measured = gpu->child; measured; measured = measured->next, walk->ordinal[1]++) {
      enum hr_status status = add_measured(walk, gpu->string, measured);
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

static enum hr_status read_json(struct speed_figures *figures, const char *path, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) return status;
  struct json_walk walk = {.figures = figures, .file = &file, .path = path, .error = error};
  status = add_tree(&walk);
  hr__json_file_finish(&file);
  return status;
}

static enum hr_status read_figures(struct speed_figures *figures, const char *path, struct hr_error *error) {
  size_t length = strlen(path);
  bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
  return is_json ? read_json(figures, path, error) : read_csv(figures, path, error);
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

#define FULL_PPM 1e6

struct speed_builder {
  struct hr__builder *builder;
  const cJSON *models;
  const char *reference;
  struct speed_figures figures;
  char *path; /* path of the file of figures; NULL: no file */
  struct hr_speeds *speeds;
};

/* ---- Figures ---------------------------------------------------------------------------------------- */

/* Adds the figures of the scenario. add_file() has ignored the figures of the file for the same models. */
static enum hr_status add_stated(struct speed_builder *self) {
  const cJSON *speeds = hr__get(self->models, "speeds");
  for (const cJSON *model = speeds ? speeds->child : NULL; model; model = model->next)
    for (const cJSON *figure = model->child; figure; figure = figure->next) {
      struct speed_figure stated = {.gpus = 1, .figure = figure->valuedouble};
      if (add_figure(&self->figures, model->string, figure->string, stated) != HR_OK)
        return hr__build_no_memory(self->builder);
    }
  return HR_OK;
}

static bool is_stated(const struct speed_builder *self, const char *model) {
  const cJSON *speeds = hr__get(self->models, "speeds");
  return speeds && hr__get(speeds, model);
}

/* Adds the figures of the file, except those of models for which the scenario has figures. */
static enum hr_status add_file(struct speed_builder *self) {
  struct hr__builder *builder = self->builder;
  struct speed_figures *figures = &self->figures;
  const cJSON *file = hr__get(self->models, "file");
  if (!file) return HR_OK;
  self->path = hr__resolve(builder, file->valuestring);
  if (!self->path) return hr__build_no_memory(builder);
  enum hr_status status = read_figures(figures, self->path, builder->error);
  uint32_t kept = 0;
  for (size_t i = 0; i < figures->count; i++)
    if (!is_stated(self, figures->at[i].model)) figures->at[kept++] = figures->at[i];
  figures->count = kept;
  return status;
}

/* Order of figures: by model, then by GPUs, then by GPU type without case, then by line. */
static int compare(const void *a, const void *b) {
  const struct speed_figure *x = a, *y = b;
  int order = strcmp(x->model, y->model);
  if (order == 0) order = (x->gpus > y->gpus) - (x->gpus < y->gpus);
  if (order == 0) order = strcasecmp(x->gpu, y->gpu);
  if (order == 0) order = (x->line > y->line) - (x->line < y->line);
  return order ? order : strcmp(x->gpu, y->gpu);
}

static bool same_row(const struct speed_figure *a, const struct speed_figure *b) {
  return a->gpus == b->gpus && strcmp(a->model, b->model) == 0;
}

/* Reports an error at the place of a figure. Returns HR_BAD_INPUT. */
HR_PRINTF(3, 4)
static enum hr_status fail_at_figure(const struct speed_builder *self, const struct speed_figure *figure,
                                     const char *format, ...) {
  char words[600];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  struct hr__builder *builder = self->builder;
  if (figure->line && figure->column)
    return hr_fail(builder->error, HR_BAD_INPUT, "%s:%zu:%zu: %s", self->path, figure->line, figure->column, words);
  if (figure->line) return hr_fail(builder->error, HR_BAD_INPUT, "%s:%zu: %s", self->path, figure->line, words);
  const cJSON *speeds = hr__get(self->models, "speeds");
  return hr__build_fail_at(builder, hr__get(speeds, figure->model), figure->gpu, "%s", words);
}

/* ---- Types ------------------------------------------------------------------------------------------ */

/* Returns true if the figure is in the scenario and is for this pool, not for a GPU type. Names of pools are
   case-sensitive; GPU types are not. */
static bool names_pool(const struct speed_figure *figure, const struct hr_pool_spec *pool) {
  return figure->line == 0 && strcmp(figure->gpu, pool->name) == 0;
}

static bool names_any_pool(const struct speed_figure *figure, const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (names_pool(figure, &cluster->pools[i])) return true;
  return false;
}

static bool is_in_cluster(const struct hr_cluster_spec *cluster, const char *gpu) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcasecmp(cluster->pools[i].gpu, gpu) == 0) return true;
  return false;
}

/* Sets `*nearest` to the name of a pool that is similar to an unknown word; NULL: no name is similar. If the word is a
   GPU type of the catalogue, `*nearest` is NULL, too: such a type need not be in the cluster. Returns HR_OK or
   HR_NO_MEMORY. */
static enum hr_status nearest_pool(const struct speed_builder *self, const char *word, const char **nearest) {
  const struct hr_cluster_spec *cluster = &self->builder->scenario->cluster;
  const struct hr_gpu_type *type;
  struct hr_error inner;
  *nearest = NULL;
  enum hr_status status = hr_catalog_gpu(self->builder->catalog, word, &type, &inner);
  if (status != HR_BAD_INPUT) return status;
  return hr__nearest_pool(cluster, word, nearest) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status warn_misspelt_pool(struct speed_builder *self, const struct speed_figure *figure) {
  const char *nearest = NULL;
  enum hr_status status = figure->line ? HR_OK : nearest_pool(self, figure->gpu, &nearest);
  if (!nearest) return status;
  return hr__build_note(self->builder, "warning: models, '%.60s': there is no pool '%.60s'; did you mean '%.60s'?",
                        figure->model, figure->gpu, nearest);
}

/* Checks the GPU types of the figures of the scenario and of a CSV file. Adds a warning for a type that no pool has and
   that looks misspelt. Other types that no pool has are allowed, because other scenarios may use them. */
static enum hr_status warn_misspelt_types(struct speed_builder *self) {
  struct hr__builder *builder = self->builder;
  struct hr_scenario *scenario = builder->scenario;
  struct hr_error inner;
  for (size_t i = 0; i < self->figures.count; i++) {
    const struct speed_figure *figure = &self->figures.at[i];
    if (figure->column || is_in_cluster(&scenario->cluster, figure->gpu)) continue;
    if (names_any_pool(figure, &scenario->cluster)) continue;
    enum hr_status status = hr__catalog_check_spelling_gpu(builder->catalog, figure->gpu, &inner);
    if (status == HR_BAD_INPUT)
      status = hr_notes_add(&scenario->notes, "warning: models, '%.60s': %s", figure->model, inner.text);
    else if (status == HR_OK)
      status = warn_misspelt_pool(self, figure);
    if (status != HR_OK) return hr__build_no_memory(builder);
  }
  return HR_OK;
}

/* Sets `*tflops` to the dense FP16 TFLOPS of a GPU type. If the type is unknown, reports an error at the key `name`.
   `owner` is for the text of this error: the pool with this type, or "the reference type". */
static enum hr_status fp16_of(struct speed_builder *self, const char *gpu, const char *name, const char *owner,
                              double *tflops) {
  const struct hr_gpu_type *type;
  struct hr_error inner;
  enum hr_status status = hr_catalog_gpu(self->builder->catalog, gpu, &type, &inner);
  if (status == HR_BAD_INPUT)
    return hr__build_fail_at(self->builder, self->models, name,
                             "the default 'catalogue' needs the FP16 TFLOPS of %s; add it to catalog.gpus_file, or set "
                             "\"default\": \"same\": %s",
                             owner, inner.text);
  if (status != HR_OK) return hr__build_wrap(self->builder, self->models, status, &inner);
  *tflops = type->fp16_tflops;
  return HR_OK;
}

/* ---- The table -------------------------------------------------------------------------------------- */

static bool make_table(struct speed_builder *self) {
  const struct speed_figures *figures = &self->figures;
  struct hr_speeds *speeds = calloc(1, sizeof *speeds);
  if (!speeds) return false;
  self->builder->scenario->speeds = self->speeds = speeds;
  speeds->n_pools = self->builder->scenario->cluster.n_pools;
  size_t n_rows = 0;
  for (size_t i = 0; i < figures->count; i++) n_rows += i == 0 || !same_row(&figures->at[i - 1], &figures->at[i]);
  speeds->reference = strdup(self->reference);
  speeds->rows = calloc(n_rows + 1, sizeof *speeds->rows);
  speeds->ppm = calloc((n_rows + 1) * speeds->n_pools, sizeof *speeds->ppm);
  return speeds->reference && speeds->rows && speeds->ppm;
}

static uint32_t *row_at(const struct hr_speeds *speeds, uint32_t row) {
  return speeds->ppm + (size_t)row * speeds->n_pools;
}

/* Returns a speed in parts per million, rounded. A speed above 0 is at least 1. */
static uint32_t to_ppm(double speed) {
  double ppm = speed * FULL_PPM;
  return ppm > 0 && ppm < 1 ? 1 : (uint32_t)llround(ppm);
}

/* Computes the default speed on each pool, and stores these speeds in the additional row after the last row. */
static enum hr_status make_default(struct speed_builder *self) {
  const struct hr_cluster_spec *cluster = &self->builder->scenario->cluster;
  uint32_t *ppm = row_at(self->speeds, self->speeds->n_rows);
  char words[700] = "";
  size_t used = 0;
  double reference = 1, tflops = 1;
  bool is_same = strcmp(hr__text_of(self->models, "default", "catalogue"), "same") == 0;
  for (uint32_t i = 0; is_same && i < cluster->n_pools; i++) ppm[i] = (uint32_t)FULL_PPM;
  if (is_same) return HR_OK;
  enum hr_status status = fp16_of(self, self->reference, "reference", "the reference type", &reference);
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    char owner[100];
    snprintf(owner, sizeof owner, "pool '%.60s'", cluster->pools[i].name);
    status = fp16_of(self, cluster->pools[i].gpu, "default", owner, &tflops);
    if (status != HR_OK) return status;
    if (tflops / reference > MAX_SPEED)
      return hr__build_fail_at(self->builder, self->models, "reference",
                               "%s would be more than %.0f times as fast as the reference type", owner, MAX_SPEED);
    ppm[i] = to_ppm(tflops / reference);
    if (used < sizeof words)
      used += (size_t)snprintf(words + used, sizeof words - used, "%s%s %.4g", i ? ", " : "", cluster->pools[i].gpu,
                               tflops / reference);
  }
  if (status != HR_OK) return status;
  return hr__build_note(self->builder,
                        "models: speeds without a figure are assumed to be the ratio of the catalogue's dense "
                        "FP16 TFLOPS (fp16_tflops) to that of %s: %s",
                        self->reference, words);
}

static const struct speed_figure *figure_of(const struct speed_figure *first, size_t count, const char *gpu) {
  for (size_t i = 0; i < count; i++)
    if (strcasecmp(first[i].gpu, gpu) == 0) return &first[i];
  return NULL;
}

static const struct speed_figure *figure_for(const struct speed_figure *first, size_t count,
                                             const struct hr_pool_spec *pool) {
  for (size_t i = 0; i < count; i++)
    if (names_pool(&first[i], pool)) return &first[i];
  return figure_of(first, count, pool->gpu);
}

/* Sets `*base` to the figure by which the figures of a row are divided. If the row has no figure for the reference
   type, its figures are already relative speeds, and `*base` is 1. */
static enum hr_status base_of(const struct speed_builder *self, const struct speed_figure *first, size_t count,
                              double *base) {
  const struct speed_figure *reference = figure_of(first, count, self->reference);
  for (size_t i = 0; i < count && !reference; i++)
    if (first[i].is_throughput)
      return fail_at_figure(self, &first[i], "'%.60s' (gpus %u) has no throughput on the reference type '%.60s'",
                            first->model, (unsigned)first->gpus, self->reference);
  *base = reference ? reference->figure : 1;
  if (*base > 0) return HR_OK;
  return fail_at_figure(self, reference,
                        "'%.60s' does not run on the reference type, so no speed relative to it exists", first->model);
}

/* Returns true if the two figures at `two` are both for pools. Their names may then differ only in case, because names
   of pools are case-sensitive. */
static bool are_two_pools(const struct hr_cluster_spec *cluster, const struct speed_figure *two) {
  return names_any_pool(&two[0], cluster) && names_any_pool(&two[1], cluster);
}

static enum hr_status make_row(struct speed_builder *self, const struct speed_figure *first, size_t count) {
  const struct hr_cluster_spec *cluster = &self->builder->scenario->cluster;
  struct hr_speeds *speeds = self->speeds;
  uint32_t row = speeds->n_rows++;
  double base = 1;
  for (size_t i = 1; i < count; i++)
    if (strcasecmp(first[i - 1].gpu, first[i].gpu) == 0 && !are_two_pools(cluster, &first[i - 1]))
      return fail_at_figure(self, &first[i], "'%.60s' (gpus %u) has two figures for '%.60s'", first->model,
                            (unsigned)first->gpus, first[i].gpu);
  speeds->rows[row] = (struct hr_speed_row){strdup(first->model), first->gpus};
  if (!speeds->rows[row].model) return hr__build_no_memory(self->builder);
  enum hr_status status = base_of(self, first, count, &base);
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct speed_figure *figure = figure_for(first, count, &cluster->pools[i]);
    if (figure && figure->figure / base > MAX_SPEED)
      return fail_at_figure(self, figure, "'%.60s' would be more than %.0f times as fast as on the reference type",
                            first->model, MAX_SPEED);
    bool is_reference = !figure && strcasecmp(cluster->pools[i].gpu, self->reference) == 0;
    row_at(speeds, row)[i] = figure ? to_ppm(figure->figure / base) : is_reference ? (uint32_t)FULL_PPM : UINT32_MAX;
  }
  return status;
}

static enum hr_status make_rows(struct speed_builder *self) {
  const struct speed_figures *figures = &self->figures;
  for (size_t i = 0, next; i < figures->count; i = next) {
    for (next = i + 1; next < figures->count && same_row(&figures->at[i], &figures->at[next]);) next++;
    enum hr_status status = make_row(self, &figures->at[i], next - i);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Replaces each missing speed (UINT32_MAX) by the default speed on the same pool. */
static void fill_rows(const struct hr_speeds *speeds) {
  const uint32_t *fallback = row_at(speeds, speeds->n_rows);
  for (uint32_t row = 0; row < speeds->n_rows; row++)
    for (uint32_t i = 0; i < speeds->n_pools; i++)
      if (row_at(speeds, row)[i] == UINT32_MAX) row_at(speeds, row)[i] = fallback[i];
}

static enum hr_status make(struct speed_builder *self) {
  enum hr_status status = hr__open_catalog(self->builder);
  if (status == HR_OK) status = add_file(self);
  if (status == HR_OK) status = add_stated(self);
  if (status != HR_OK) return status;
  if (self->figures.count) qsort(self->figures.at, self->figures.count, sizeof *self->figures.at, compare);
  if (!make_table(self)) return hr__build_no_memory(self->builder);
  status = make_rows(self);
  if (status == HR_OK) status = make_default(self);
  if (status == HR_OK) fill_rows(self->speeds);
  return status == HR_OK ? warn_misspelt_types(self) : status;
}

/* ---- Without figures ---------------------------------------------------------------------------------- */

/* Returns whether an earlier pool has the same GPU type. */
static bool is_repeated(const struct hr_cluster_spec *cluster, uint32_t pool) {
  for (uint32_t i = 0; i < pool; i++)
    if (strcasecmp(cluster->pools[i].gpu, cluster->pools[pool].gpu) == 0) return true;
  return false;
}

static uint32_t count_types(const struct hr_cluster_spec *cluster) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) count += !is_repeated(cluster, i);
  return count;
}

/* Writes the GPU types of the pools, each with its speed in the catalogue relative to the first type, such as "A100-80
   1, H100 3.17". Returns false if the catalogue lacks a type or its speed. */
static bool list_speeds(const struct hr__builder *builder, char *words, size_t size) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_gpu_type *type, *first = NULL;
  size_t used = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const char *gpu = cluster->pools[i].gpu;
    if (is_repeated(cluster, i)) continue;
    if (hr_catalog_gpu(builder->catalog, gpu, &type, NULL) != HR_OK || type->fp16_tflops <= 0) return false;
    if (used < size)
      used += (size_t)snprintf(words + used, size - used, "%s%.40s %.3g", first ? ", " : "", gpu,
                               type->fp16_tflops / (first ? first : type)->fp16_tflops);
    if (!first) first = type;
  }
  return true;
}

/* Adds a note if the pools have several GPU types and the scenario has no speeds. */
static enum hr_status note_equal_speeds(struct hr__builder *builder) {
  char words[400];
  if (count_types(&builder->scenario->cluster) < 2) return HR_OK;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  if (!list_speeds(builder, words, sizeof words))
    return hr__build_note(builder, "a job takes as long on every GPU type, because the scenario has no 'models', the "
                                   "speeds of models by GPU type");
  return hr__build_note(builder,
                        "a job takes as long on every GPU type, because the scenario has no 'models'; add "
                        "\"models\": \"catalogue\" (--set models=catalogue) for the catalogue's relative speeds: %s",
                        words);
}

enum hr_status hr__build_models(struct hr__builder *builder) {
  struct speed_builder self = {.builder = builder};
  self.models = hr__get(builder->source.file.tree, "models");
  if (!self.models) return note_equal_speeds(builder);
  /* "models": "catalogue" has no members: keys have their defaults, and the reference is the type of the first pool */
  bool is_word = cJSON_IsString(self.models);
  self.reference = is_word ? builder->scenario->cluster.pools[0].gpu : hr__text_of(self.models, "reference", "");
  enum hr_status status = make(&self);
  figures_finish(&self.figures);
  free(self.path);
  return status;
}
