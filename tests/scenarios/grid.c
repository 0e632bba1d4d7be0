/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grids of sweeps: all forms of levels, errors, and a comparison of docs/reference/schemas/sweep.schema.json with the
   key table. */

#include "harness.h"
#include "headroom/unstable/experiments.h"
#include "messages.h"

#include "headroom/unstable/compare.h"
#include "key_schema.h"

#include <math.h>
#include <string.h>

/* Loads a grid with these axes and further members. Returns NULL and sets `*error` if the grid is invalid. */
static struct hr_grid *load(const char *axes, const char *more, struct hr_error *error) {
  const char *path = "grid_test.json";
  struct hr_grid *grid = NULL;
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file, "{\"scenario\": \"below/s.json\", \"axes\": [%s]%s}", axes, more);
  fclose(file);
  enum hr_status status = hr_grid_load(path, &grid, error);
  CU_ASSERT_EQUAL(status == HR_OK, grid != NULL);
  remove(path);
  return grid;
}

static struct hr_grid *expect_good(const char *axes, const char *more) {
  struct hr_error error = {0};
  struct hr_grid *grid = load(axes, more, &error);
  if (!grid) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(grid);
  return grid;
}

static void expect_bad(const char *axes, const char *more, const char *text) {
  struct hr_error error = {0};
  struct hr_grid *grid = load(axes, more, &error);
  CU_ASSERT_PTR_NULL(grid);
  CU_ASSERT_EQUAL(error.status, HR_BAD_INPUT);
  if (!message_has(error.text, text)) printf("\n  %s\n  does not say: %s\n", error.text, text);
  CU_ASSERT_TRUE(message_has(error.text, text));
  hr_grid_destroy(grid);
}

static void expect_levels(const char *axis, const char *const *sets) {
  struct hr_grid *grid = expect_good(axis, "");
  const struct hr_grid_axis *first = &grid->axes[0];
  uint32_t count = 0;
  for (; sets[count]; count++) {
    CU_ASSERT_FATAL(count < first->n_levels);
    CU_ASSERT_EQUAL(first->levels[count].n_set, 1);
    CU_ASSERT_STRING_EQUAL(first->levels[count].set[0], sets[count]);
  }
  CU_ASSERT_EQUAL(first->n_levels, count);
  hr_grid_destroy(grid);
}

static void values(void) {
  expect_levels("{\"path\": \"a.b\", \"values\": [4, 0.1, \"sjf\", true]}",
                (const char *const[]){"a.b=4", "a.b=0.1", "a.b=sjf", "a.b=true", NULL});
  struct hr_grid *grid = expect_good("{\"path\": \"a.b\", \"values\": [4, \"4x\"]}", "");
  CU_ASSERT_TRUE(grid->axes[0].levels[0].number == 4);
  CU_ASSERT_TRUE(isnan(grid->axes[0].levels[1].number));
  CU_ASSERT_STRING_EQUAL(grid->axes[0].name, "a.b");
  hr_grid_destroy(grid);
}

/* Steps of 0.1 result in exact decimal texts, including the last one. */
static void steps(void) {
  expect_levels("{\"path\": \"p\", \"from\": 0.1, \"to\": 0.7, \"step\": 0.1}",
                (const char *const[]){"p=0.1", "p=0.2", "p=0.3", "p=0.4", "p=0.5", "p=0.6", "p=0.7", NULL});
  expect_levels("{\"path\": \"p\", \"from\": 2, \"to\": 9, \"step\": 3}",
                (const char *const[]){"p=2", "p=5", "p=8", NULL});
  expect_levels("{\"path\": \"p\", \"from\": 2, \"to\": 2, \"step\": 3}", (const char *const[]){"p=2", NULL});
}

static void points_of_a_range(void) {
  expect_levels("{\"path\": \"p\", \"from\": 0, \"to\": 1, \"points\": 5}",
                (const char *const[]){"p=0", "p=0.25", "p=0.5", "p=0.75", "p=1", NULL});
  expect_levels("{\"path\": \"p\", \"from\": 0.01, \"to\": 100, \"points\": 5, \"scale\": \"log\"}",
                (const char *const[]){"p=0.01", "p=0.1", "p=1", "p=10", "p=100", NULL});
}

static void settings(void) {
  struct hr_grid *grid = expect_good("{\"name\": \"mix\", \"settings\": [{\"label\": \"none\", \"set\": []}, "
                                     "{\"label\": \"both\", \"set\": [\"a=1\", \"b=2\"]}]}",
                                     "");
  const struct hr_grid_axis *axis = &grid->axes[0];
  CU_ASSERT_STRING_EQUAL(axis->name, "mix");
  CU_ASSERT_PTR_NULL(axis->path);
  CU_ASSERT_EQUAL_FATAL(axis->n_levels, 2);
  CU_ASSERT_EQUAL(axis->levels[0].n_set, 0);
  CU_ASSERT_EQUAL_FATAL(axis->levels[1].n_set, 2);
  CU_ASSERT_STRING_EQUAL(axis->levels[1].text, "both");
  CU_ASSERT_STRING_EQUAL(axis->levels[1].set[1], "b=2");
  hr_grid_destroy(grid);
}

static void other_members(void) {
  const char axis[] = "{\"path\": \"p\", \"values\": [1]}";
  struct hr_grid *grid = expect_good(axis, "");
  CU_ASSERT_STRING_EQUAL(grid->scenario_path, "below/s.json");
  CU_ASSERT_EQUAL(grid->design, HR_DESIGN_FULL);
  CU_ASSERT_EQUAL(grid->replications, 1);
  CU_ASSERT_EQUAL(grid->seed, 1);
  CU_ASSERT_EQUAL(grid->max_runs, 100000);
  hr_grid_destroy(grid);
  grid = expect_good(axis, ", \"set\": [\"q=1\"], \"design\": {\"kind\": \"sobol\", \"points\": 8}, "
                           "\"replications\": 3, \"seed\": \"18446744073709551615\", \"max_runs\": 9");
  CU_ASSERT_EQUAL(grid->n_set, 1);
  CU_ASSERT_EQUAL(grid->design, HR_DESIGN_SOBOL);
  CU_ASSERT_EQUAL(grid->n_points, 8);
  CU_ASSERT_EQUAL(grid->replications, 3);
  CU_ASSERT_EQUAL(grid->seed, UINT64_MAX);
  CU_ASSERT_EQUAL(grid->max_runs, 9);
  hr_grid_destroy(grid);
  grid = expect_good(axis, ", \"design\": \"full\"");
  CU_ASSERT_EQUAL(grid->design, HR_DESIGN_FULL);
  hr_grid_destroy(grid);
}

static void invalid_axes(void) {
  expect_bad("", "", "'axes' is an empty list");
  expect_bad("{}", "", "an axis wants 'values', or 'from' and 'to', or 'settings'");
  expect_bad("{\"values\": [1]}", "", "an axis wants a 'path'");
  expect_bad("{\"path\": \"a=b\", \"values\": [1]}", "", "'a=b' has an equals sign");
  expect_bad("{\"path\": \"p\", \"values\": [1], \"from\": 2}", "", "an axis with 'values' has no 'from'");
  expect_bad("{\"path\": \"p\", \"values\": [[1]]}", "", "'axes.0.values.0' is a list");
  expect_bad("{\"path\": \"p\", \"from\": 2}", "", "an axis with 'from' wants 'to', too");
  expect_bad("{\"path\": \"p\", \"to\": 2, \"step\": 1}", "", "an axis with 'to' wants 'from', too");
  expect_bad("{\"path\": \"p\", \"from\": 3, \"to\": 2, \"step\": 1}", "", "beyond 'to', which is 2");
  expect_bad("{\"path\": \"p\", \"from\": 0, \"to\": 2, \"step\": -1}", "", "'axes.0.step' is the number -1");
  expect_bad("{\"path\": \"p\", \"from\": 0, \"to\": 2, \"step\": 1e-9}", "", "an axis has at most 10000");
  expect_bad("{\"path\": \"p\", \"from\": 0, \"to\": 2, \"step\": 1, \"points\": 3}", "", "not both");
  expect_bad("{\"path\": \"p\", \"from\": 0, \"to\": 2, \"points\": 3, \"scale\": \"log\"}", "", "above 0");
  expect_bad("{\"path\": \"p\", \"from\": 1, \"to\": 2, \"step\": 1, \"scale\": \"log\"}", "", "say 'points'");
  expect_bad("{\"path\": \"p\", \"from\": 2, \"to\": 2, \"points\": 3}", "", "'2' is there twice");
  expect_bad("{\"path\": \"p\", \"from\": 1, \"to\": 2}", "", "'step', or 'points'");
  expect_bad("{\"path\": \"p\", \"settings\": [{\"label\": \"l\", \"set\": []}]}", "", "has a 'name'");
  expect_bad("{\"settings\": [{\"label\": \"l\", \"set\": []}]}", "", "wants a 'name'");
  expect_bad("{\"name\": \"n\", \"settings\": [{\"set\": []}]}", "", "lacks the key 'label'");
  expect_bad("{\"path\": \"p\", \"values\": [1]}, {\"name\": \"q\", \"path\": \"p\", \"values\": [2]}", "",
             "the path 'p' has an axis already");
  expect_bad("{\"path\": \"p\", \"values\": [1]}, {\"name\": \"P\", \"path\": \"q\", \"values\": [2]}", "",
             "an axis is called 'P' already");
}

static void invalid_members(void) {
  const char axis[] = "{\"path\": \"p\", \"values\": [1]}";
  expect_bad(axis, ", \"design\": \"sobl\"", "did you mean 'sobol'?");
  expect_bad(axis, ", \"design\": 7", "'design' is the number 7");
  expect_bad(axis, ", \"design\": \"latin-hypercube\"", "a latin-hypercube design wants 'points'");
  expect_bad(axis, ", \"design\": {\"kind\": \"full\", \"points\": 7}", "all combinations of its levels");
  expect_bad(axis, ", \"replicatons\": 3", "did you mean 'replications'?");
  expect_bad(axis, ", \"max_runs\": 0", "'max_runs' is the number 0");
  expect_bad(axis, "}, {", "grid_test.json:1:");
}

/* ---- The schema ------------------------------------------------------------------------------------- */

static void the_schema_matches_the_key_table(void) {
  struct hr__json_file schema;
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/sweep.schema.json", &schema);
  key_schema_expect_table(&schema, &hr__grid_keys);
  hr__json_file_finish(&schema);
}

static void scenarios_are_rejected(void) {
  const char *path = "grid_test.json";
  struct hr_grid *grid = NULL;
  struct hr_error error = {0};
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("{\"cluster\": {\"pools\": []}, \"policy\": {\"name\": \"queue\"}}", file);
  fclose(file);
  CU_ASSERT_EQUAL(hr_grid_load(path, &grid, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(grid);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "is a scenario, not a grid"));
  remove(path);
}

TEST_MAIN("scenarios: grids", TEST(scenarios_are_rejected), TEST(values), TEST(steps), TEST(points_of_a_range),
          TEST(settings), TEST(other_members), TEST(invalid_axes), TEST(invalid_members),
          TEST(the_schema_matches_the_key_table))
