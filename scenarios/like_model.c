/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model of a workload from its file, or from those that are part of the library. */

#include "headroom/unstable/like.h"
#include "scenarios/build/builder.h"
#include "scenarios/like_keys.h"
#include "scenarios/workloads/embedded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WORD(name, text) text,
static const char *const classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};

/* ---- Lists of numbers ------------------------------------------------------------------------------- */

static uint32_t length_of(const cJSON *object, const char *name) {
  return (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void take_numbers(const cJSON *list, double *numbers) {
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next) *numbers++ = item->valuedouble;
}

static void read_numbers(const cJSON *object, const char *name, double *numbers) {
  take_numbers(cJSON_GetObjectItemCaseSensitive(object, name), numbers);
}

/* Quantiles never decrease. */
static enum hr_status read_quantiles(struct hr__builder *builder, const cJSON *object, const char *name,
                                     double *numbers, uint32_t n) {
  read_numbers(object, name, numbers);
  for (uint32_t i = 1; i < n; i++)
    if (numbers[i] < numbers[i - 1])
      return hr__build_fail_at(builder, object, name, "the %u. number is less than the one before it; quantiles rise",
                               i + 1);
  return HR_OK;
}

/* A list of any length, of which one number at least is above 0. */
static enum hr_status read_shares(struct hr__builder *builder, const cJSON *object, const char *name, double **shares,
                                  uint32_t *n) {
  *n = length_of(object, name);
  *shares = calloc(*n + 1, sizeof **shares);
  if (!*shares) return hr__build_no_memory(builder);
  read_numbers(object, name, *shares);
  for (uint32_t i = 0; i < *n; i++)
    if ((*shares)[i] > 0) return HR_OK;
  return hr__build_fail_at(builder, object, name, "all numbers are 0; one at least above 0 is wanted");
}

/* Factors of a rate are about 1 on average: the rate itself says how many jobs there are. */
static enum hr_status check_mean(struct hr__builder *builder, const cJSON *object, const char *name,
                                 const double *factors, uint32_t n) {
  static const double most = 2;
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += factors[i];
  if (sum / n <= most) return HR_OK;
  return hr__build_fail_at(
      builder, object, name,
      "the mean of these factors is %.3g; about 1 is wanted, %g at most: how many jobs come is told "
      "by 'jobs_per_day'",
      sum / n, most);
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

static enum hr_status build_ask(struct hr__builder *builder, const cJSON *json, struct hr_like_ask *ask) {
  const char *type = hr__text_of(json, "gpu_type", NULL);
  *ask = (struct hr_like_ask){.share = hr__number_of(json, "share", 0),
                              .gpus = (uint32_t)hr__number_of(json, "gpus", 0),
                              .tasks = (uint32_t)hr__number_of(json, "tasks", 1),
                              .gpu_milli = (uint32_t)hr__number_of(json, "gpu_milli", 1000),
                              .cpu_milli = (uint32_t)hr__number_of(json, "cpu_milli", 0),
                              .mem_mib = (uint64_t)hr__number_of(json, "mem_mib", 0),
                              .gpu_type = type ? strdup(type) : NULL,
                              .class_ = (uint8_t)hr__choice_of(json, "class", classes, HR_CLASS_UNKNOWN)};
  if (type && !ask->gpu_type) return hr__build_no_memory(builder);
  if (ask->gpus % ask->tasks == 0) return HR_OK;
  return hr__build_fail_at(builder, json, "tasks", "%u GPUs cannot be shared out over %u tasks; a divisor is wanted",
                           ask->gpus, ask->tasks);
}

/* Where they are not told, all campaigns are as alike as they are on average. */
static enum hr_status build_spreads(struct hr__builder *builder, const cJSON *json, struct hr_like_cell *cell) {
  for (uint32_t i = 0; i < HR_LIKE_KNOTS; i++) cell->spreads[i] = sqrt(1 - cell->together);
  return read_quantiles(builder, json, "spreads", cell->spreads, HR_LIKE_KNOTS);
}

static enum hr_status build_cell(struct hr__builder *builder, const cJSON *json, struct hr_like_cell *cell) {
  *cell = (struct hr_like_cell){.share = hr__number_of(json, "share", 0),
                                .together = hr__number_of(json, "together", 0),
                                .steady = hr__number_of(json, "steady", 0),
                                .gaps_together = hr__number_of(json, "gaps_together", 0),
                                .tail_from = hr__number_of(json, "tail_from", 1),
                                .tail_scale = hr__number_of(json, "tail_scale", 0),
                                .tail_shape = hr__number_of(json, "tail_shape", 0)};
  read_numbers(json, "alike", cell->alike);
  read_numbers(json, "holds", cell->holds);
  enum hr_status status = build_spreads(builder, json, cell);
  if (status == HR_OK) status = read_quantiles(builder, json, "jobs", cell->jobs, HR_LIKE_KNOTS);
  if (status == HR_OK) status = read_quantiles(builder, json, "gaps_s", cell->gaps_s, HR_LIKE_KNOTS);
  if (status == HR_OK) status = read_quantiles(builder, json, "run_s", cell->run_s, HR_LIKE_RUN_KNOTS);
  cell->most_s = hr__number_of(json, "most_s", cell->run_s[HR_LIKE_RUN_KNOTS - 1]);
  return status;
}

static enum hr_status build_outcomes(struct hr__builder *builder, const cJSON *json, struct hr_like_size *size) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "outcomes");
  uint32_t i = 0;
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
    struct hr_like_outcomes *outcomes = &size->outcomes[i++];
    outcomes->completed = hr__number_of(item, "completed", 0);
    outcomes->failed = hr__number_of(item, "failed", 0);
    outcomes->cancelled = hr__number_of(item, "cancelled", 0);
    if (outcomes->completed + outcomes->failed + outcomes->cancelled > 1 + 1e-5)
      return hr__build_fail_at(builder, json, "outcomes", "the shares of the %u. add up to more than 1", i);
  }
  return HR_OK;
}

/* Builds each item of a list with `build`; the place of what fails is the item's. */
#define BUILD_EACH(builder, json, list_name, array, count, build, status)                                              \
  do {                                                                                                                 \
    const cJSON *list_ = hr__build_enter(builder, json, list_name);                                                    \
    (array) = calloc((size_t)cJSON_GetArraySize(list_) + 1, sizeof *(array));                                          \
    if (!(array)) (status) = hr__build_no_memory(builder);                                                             \
    for (const cJSON *item_ = list_->child; item_ && (status) == HR_OK; item_ = item_->next) {                         \
      hr__place_enter(&(builder)->place, (uint32_t)(count), NULL);                                                     \
      (status) = build(builder, item_, &(array)[(count)++]);                                                           \
      hr__build_leave(builder);                                                                                        \
    }                                                                                                                  \
    hr__build_leave(builder);                                                                                          \
  } while (0)

static enum hr_status build_size(struct hr__builder *builder, const cJSON *json, struct hr_like_size *size) {
  enum hr_status status = HR_OK;
  double asks = 0, cells = 0;
  size->share = hr__number_of(json, "share", 0);
  size->repeats = hr__number_of(json, "repeats", 0);
  size->most_gpu_s = hr__number_of(json, "most_gpu_s", 0);
  BUILD_EACH(builder, json, "asks", size->asks, size->n_asks, build_ask, status);
  if (status == HR_OK) BUILD_EACH(builder, json, "cells", size->cells, size->n_cells, build_cell, status);
  if (status == HR_OK) status = build_outcomes(builder, json, size);
  for (uint32_t i = 0; i < size->n_asks; i++) asks += size->asks[i].share;
  for (uint32_t i = 0; i < size->n_cells; i++) cells += size->cells[i].share;
  if (status != HR_OK || (asks > 0 && cells > 0)) return status;
  return hr__build_fail_at(builder, json, asks > 0 ? "cells" : "asks",
                           "all shares are 0; one at least above 0 is wanted");
}

/* ---- Bands ------------------------------------------------------------------------------------------ */

static enum hr_status build_sizes(struct hr__builder *builder, const cJSON *json, struct hr_like_band *band) {
  enum hr_status status = HR_OK;
  double shares = 0;
  BUILD_EACH(builder, json, "sizes", band->sizes, band->n_sizes, build_size, status);
  for (uint32_t i = 0; i < band->n_sizes; i++) shares += band->sizes[i].share;
  if (status != HR_OK || shares > 0) return status;
  return hr__build_fail_at(builder, json, "sizes", "all shares are 0; one at least above 0 is wanted");
}

static enum hr_status read_shifts(struct hr__builder *builder, const cJSON *json, const char *name, double **shifts,
                                  uint32_t n_weeks) {
  if (length_of(json, name) != n_weeks)
    return hr__build_fail_at(builder, json, name, "as many numbers as weeks are wanted, %u", n_weeks);
  *shifts = calloc(n_weeks, sizeof **shifts);
  if (!*shifts) return hr__build_no_memory(builder);
  read_numbers(json, name, *shifts);
  return HR_OK;
}

static enum hr_status build_band(struct hr__builder *builder, struct hr_like_model *model, const cJSON *json,
                                 struct hr_like_band *band) {
  uint32_t n_weeks = 0;
  band->jobs_per_day = hr__number_of(json, "jobs_per_day", 0);
  band->day_variance = hr__number_of(json, "day_variance", 0);
  band->day_correlation = hr__number_of(json, "day_correlation", 0);
  enum hr_status status = read_shares(builder, json, "weeks", &band->weeks, &n_weeks);
  if (status == HR_OK) status = check_mean(builder, json, "weeks", band->weeks, n_weeks);
  if (status != HR_OK) return status;
  if (model->n_weeks == 0) model->n_weeks = n_weeks;
  if (n_weeks != model->n_weeks)
    return hr__build_fail_at(builder, json, "weeks", "as many numbers as in the first band's weeks are wanted, %u",
                             model->n_weeks);
  status = read_shifts(builder, json, "shifts", &band->shifts, n_weeks);
  if (status == HR_OK) status = read_shifts(builder, json, "length_shifts", &band->length_shifts, n_weeks);
  if (status != HR_OK) return status;
  return build_sizes(builder, json, band);
}

static enum hr_status build_bands(struct hr__builder *builder, struct hr_like_model *model) {
  const cJSON *list = hr__build_enter(builder, builder->source.file.tree, "bands");
  double jobs = 0;
  enum hr_status status = HR_OK;
  for (const cJSON *json = list->child; json && status == HR_OK; json = json->next) {
    struct hr_like_band *band = &model->bands[model->n_bands];
    hr__place_enter(&builder->place, model->n_bands++, NULL);
    status = build_band(builder, model, json, band);
    hr__build_leave(builder);
    jobs += band->jobs_per_day;
  }
  hr__build_leave(builder);
  if (status != HR_OK || jobs > 0) return status;
  return hr__build_fail_at(builder, builder->source.file.tree, "bands", "no band has any jobs_per_day");
}

/* ---- The rest --------------------------------------------------------------------------------------- */

/* Without them all campaigns begin when they would. */
static enum hr_status build_holding(struct hr__builder *builder, struct hr_like_holding *holding, const char *levels,
                                    const char *admits) {
  const cJSON *root = builder->source.file.tree;
  enum hr_status status = read_quantiles(builder, root, levels, holding->levels, HR_LIKE_LEVELS);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) holding->admits[i] = 1;
  read_numbers(root, admits, holding->admits);
  if (length_of(root, admits) && !(holding->levels[HR_LIKE_LEVELS - 1] > 0))
    return hr__build_fail_at(builder, root, admits, "says nothing without '%s'; give both", levels);
  for (uint32_t i = 1; i < HR_LIKE_LEVELS; i++)
    if (holding->admits[i] > holding->admits[i - 1])
      return hr__build_fail_at(builder, root, admits,
                               "the %u. number is more than the one before it; above higher levels less begins", i + 1);
  return HR_OK;
}

/* After the bands, whose weeks are counted. */
static enum hr_status build_trend(struct hr__builder *builder, struct hr_like_model *model) {
  const cJSON *root = builder->source.file.tree;
  if (length_of(root, "trend")) return read_shifts(builder, root, "trend", &model->trend, model->n_weeks);
  if (length_of(root, "trend_levels") == 0) return HR_OK;
  return hr__build_fail_at(builder, root, "trend_levels", "says nothing without 'trend'; give both");
}

static enum hr_status build_people(struct hr__builder *builder, struct hr_like_model *model) {
  const cJSON *root = builder->source.file.tree, *users, *tenants;
  users = cJSON_GetObjectItemCaseSensitive(root, "users");
  tenants = cJSON_GetObjectItemCaseSensitive(root, "tenants");
  enum hr_status status = HR_OK;
  if (users) status = read_shares(builder, users, "shares", &model->users, &model->n_users);
  if (tenants && status == HR_OK) status = read_shares(builder, tenants, "shares", &model->tenants, &model->n_tenants);
  model->user_together = hr__number_of(users ? users : tenants, "together", 0);
  return status;
}

static enum hr_status build_limits(struct hr__builder *builder, struct hr_like_model *model) {
  const cJSON *limits = cJSON_GetObjectItemCaseSensitive(builder->source.file.tree, "limits");
  if (!limits) return HR_OK;
  model->limit_share = hr__number_of(limits, "share", 0);
  uint32_t i = 0;
  const cJSON *ratios = cJSON_GetObjectItemCaseSensitive(limits, "ratios");
  for (const cJSON *list = ratios ? ratios->child : NULL; list; list = list->next)
    take_numbers(list, model->limit_ratios[i++]);
  return HR_OK;
}

static enum hr_status read_factors(struct hr__builder *builder, const char *name, double *factors, uint32_t n) {
  const cJSON *root = builder->source.file.tree;
  read_numbers(root, name, factors);
  for (uint32_t i = 0; i < n; i++)
    if (factors[i] > 0) return check_mean(builder, root, name, factors, n);
  return hr__build_fail_at(builder, root, name, "all numbers are 0; one at least above 0 is wanted");
}

static enum hr_status build(struct hr__builder *builder, struct hr_like_model *model) {
  enum hr_status status = hr__source_validate(&builder->source, hr__like_keys(), "the workload", builder->error);
  if (status != HR_OK) return status;
  const cJSON *root = builder->source.file.tree;
  model->name = strdup(hr__text_of(root, "name", ""));
  model->source = strdup(hr__text_of(root, "source", ""));
  if (!model->name || !model->source) return hr__build_no_memory(builder);
  status = read_factors(builder, "hours", model->hours, 24);
  if (status == HR_OK) status = read_factors(builder, "weekdays", model->weekdays, 7);
  if (status == HR_OK) status = build_holding(builder, &model->holding[HR_LIKE_BY_MEAN], "levels", "admits");
  if (status == HR_OK)
    status = build_holding(builder, &model->holding[HR_LIKE_BY_TREND], "trend_levels", "trend_admits");
  if (status == HR_OK) status = build_bands(builder, model);
  if (status == HR_OK) status = build_trend(builder, model);
  if (status == HR_OK) status = build_people(builder, model);
  return status == HR_OK ? build_limits(builder, model) : status;
}

static enum hr_status build_model(struct hr__builder *builder, struct hr_like_model **model) {
  struct hr_like_model *fresh = calloc(1, sizeof *fresh);
  enum hr_status status = fresh ? build(builder, fresh) : hr__build_no_memory(builder);
  hr__json_file_finish(&builder->source.file);
  if (status == HR_OK)
    *model = fresh;
  else
    hr_like_destroy(fresh);
  return status;
}

/* ---- Where it comes from ---------------------------------------------------------------------------- */

enum hr_status hr_like_load(const char *path, struct hr_like_model **model, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *model = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  return status == HR_OK ? build_model(&builder, model) : status;
}

const char *const *hr_like_names(void) {
  static const char *const names[] = {"philly", "helios", "pai", "acme-seren", "acme-kalos", NULL};
  return names;
}

/* The text and the tree of a model that is part of the library. */
static enum hr_status read_shipped(const char *name, struct hr__json_file *file, struct hr_error *error) {
  const struct {
    const unsigned char *bytes;
    size_t size;
  } texts[] = {{hr__workload_philly, hr__workload_philly_size},
               {hr__workload_helios, hr__workload_helios_size},
               {hr__workload_pai, hr__workload_pai_size},
               {hr__workload_acme_seren, hr__workload_acme_seren_size},
               {hr__workload_acme_kalos, hr__workload_acme_kalos_size}};
  uint32_t at = 0;
  while (hr_like_names()[at] && strcmp(hr_like_names()[at], name) != 0) at++;
  if (!hr_like_names()[at]) return hr_fail(error, HR_BAD_INPUT, "'%.200s' is no workload that ships", name);
  return hr__json_file_copy(name, texts[at].bytes, texts[at].size, file, error);
}

enum hr_status hr_like_shipped(const char *name, struct hr_like_model **model, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = name}, .error = error};
  *model = NULL;
  enum hr_status status = read_shipped(name, &builder.source.file, error);
  return status == HR_OK ? build_model(&builder, model) : status;
}

/* The rest of a text whose opening quote was read, of which no more than `room` bytes are kept, with a NUL. */
static void read_text(FILE *file, char *text, size_t room) {
  size_t length = 0;
  for (int byte = getc(file); byte != EOF && byte != '"'; byte = getc(file)) {
    if (length + 1 < room) text[length++] = (char)byte;
    if (byte == '\\' && getc(file) == EOF) break;
  }
  text[length] = '\0';
}

/* Whether the outermost object, whose brace was read, has that key. */
static bool has_key(FILE *file, const char *key) {
  char text[64];
  int depth = 1, before = '{';
  while (depth > 0) {
    int byte = getc(file);
    if (byte == EOF) return false;
    if (byte == '"') {
      read_text(file, text, sizeof text);
      if (depth == 1 && (before == '{' || before == ',') && strcmp(text, key) == 0) return true;
    }
    if (byte == '{' || byte == '[') depth++;
    if (byte == '}' || byte == ']') depth--;
    if (!strchr(" \t\r\n", byte)) before = byte;
  }
  return false;
}

/* After a byte order mark and blanks. */
static int first_byte(FILE *file) {
  static const char mark[] = "\xef\xbb\xbf";
  char start[sizeof mark - 1];
  if (fread(start, 1, sizeof start, file) != sizeof start || memcmp(start, mark, sizeof start) != 0) rewind(file);
  int byte = getc(file);
  while (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') byte = getc(file);
  return byte;
}

bool hr_like_is_model(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  bool is = first_byte(file) == '{' && has_key(file, "headroom_workload");
  fclose(file);
  return is;
}

/* ---- The end ---------------------------------------------------------------------------------------- */

static void finish_size(struct hr_like_size *size) {
  for (uint32_t i = 0; i < size->n_asks; i++) free(size->asks[i].gpu_type);
  free(size->asks);
  free(size->cells);
}

void hr_like_destroy(struct hr_like_model *model) {
  if (!model) return;
  for (uint32_t i = 0; i < model->n_bands; i++) {
    struct hr_like_band *band = &model->bands[i];
    for (uint32_t k = 0; k < band->n_sizes; k++) finish_size(&band->sizes[k]);
    free(band->sizes);
    free(band->weeks);
    free(band->shifts);
    free(band->length_shifts);
  }
  free(model->trend);
  free(model->users);
  free(model->tenants);
  free(model->name);
  free(model->source);
  free(model);
}
