/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `models` of scenarios: speeds computed from TFLOPS, and the position and key words of each error. */

#include "loading.h"

#define CLUSTER                                                                                                        \
  "\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":["                                                           \
  "{\"name\":\"fast\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":8},"                                              \
  "{\"name\":\"slow\",\"gpu\":\"p100\",\"nodes\":1,\"gpus_per_node\":8}]}"
/* A scenario with the members of `models` at the beginning of its second line. */
#define MODELS(members) "{" CLUSTER ",\"models\":{\n" members "}}"
#define REFERENCE "\"reference\":\"V100\""

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(name, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

static void expect_rows(const char *text, size_t n_rows, const struct hr_speed_row *rows, const uint32_t *ppm) {
  write_text(text);
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_speeds *speeds = scenario->speeds;
  CU_ASSERT_PTR_NOT_NULL_FATAL(speeds);
  CU_ASSERT_STRING_EQUAL(speeds->reference, "V100");
  CU_ASSERT_EQUAL_FATAL(speeds->n_rows, n_rows);
  CU_ASSERT_EQUAL_FATAL(speeds->n_pools, 2);
  for (size_t i = 0; i < n_rows; i++) {
    CU_ASSERT_STRING_EQUAL(speeds->rows[i].model, rows[i].model);
    CU_ASSERT_EQUAL(speeds->rows[i].gpus, rows[i].gpus);
  }
  for (size_t i = 0; i < 2 * (n_rows + 1); i++) {
    if (speeds->ppm[i] != ppm[i]) printf("\n  %zu: %u, not %u\n", i, (unsigned)speeds->ppm[i], (unsigned)ppm[i]);
    CU_ASSERT_EQUAL(speeds->ppm[i], ppm[i]);
  }
  hr_scenario_destroy(scenario);
}

static bool has_note(const struct hr_scenario *scenario, const char *text) {
  for (size_t i = 0; i < scenario->notes.count; i++)
    if (message_matches(scenario->notes.text[i], text)) return true;
  for (size_t i = 0; i < scenario->notes.count; i++) printf("\n  but: %s\n", scenario->notes.text[i]);
  return false;
}

static char a[] = "A", b[] = "B", c[] = "C (batch size 16)";

static void without_the_section_there_are_no_speeds(void) {
  write_text("{" CLUSTER "}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_PTR_NULL(scenario->speeds);
  CU_ASSERT_EQUAL(scenario->notes.count, 1);
  CU_ASSERT(has_note(scenario,
                     "a job takes as long on every GPU type, because the scenario has no 'models'; add "
                     "\"models\": \"catalogue\" (--set models=catalogue) for the catalogue's relative speeds: V100 "
                     "1, p100 0.17"));
  hr_scenario_destroy(scenario);
}

/* The speed of a P100 relative to a V100 in millionths: 21.2 and 125 dense FP16 TFLOPS. */
enum { BY_CATALOGUE = 169600 };

static void default_speeds_are_ratios_of_the_catalogue(void) {
  expect_rows(MODELS(REFERENCE), 0, NULL, (const uint32_t[]){1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"default\":\"same\""), 0, NULL, (const uint32_t[]){1000000, 1000000});
  write_text(MODELS(REFERENCE));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_TRUE(has_note(scenario, "models: where there is no speed, the ratio of the catalogue's dense FP16 TFLOPS "
                                    "(fp16_tflops) to that of V100 is assumed: V100 1, p100 0.1696"));
  hr_scenario_destroy(scenario);
}

static void one_word_selects_the_speeds_of_the_catalogue(void) {
  expect_rows("{" CLUSTER ",\"models\":\"catalogue\"}", 0, NULL, (const uint32_t[]){1000000, BY_CATALOGUE});
  write_text("{" CLUSTER "}");
  static const char *const overrides[] = {"models=catalogue", "cluster.pools.1.gpu=v100"};
  struct hr_scenario *scenario = load(overrides, 1);
  CU_ASSERT_PTR_NOT_NULL(scenario->speeds);
  hr_scenario_destroy(scenario);
  scenario = load(&overrides[1], 1);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
  write_text("{" CLUSTER ",\n\"models\":\"catalog\"}");
  expect_error(NULL, 0,
               "s.json:2:10: 'models' is the text \"catalog\"; the text \"catalogue\" or "
               "an object {...} of at most 1000 keys is expected");
}

static void stated_speeds_are_relative_to_the_reference(void) {
  const struct hr_speed_row rows[] = {{a, 1}, {b, 1}};
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"B\":{\"V100\":4,\"P100\":1},\"A\":{\"P100\":0.55}}"), 2, rows,
              (const uint32_t[]){1000000, 550000, 1000000, 250000, 1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"B\":{\"v100\":3,\"P100\":0},\"A\":{\"V100\":2,\"P100\":0.000000001}}"),
              2, rows, (const uint32_t[]){1000000, 1, 1000000, 0, 1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"T4\":2}}"), 1, rows,
              (const uint32_t[]){1000000, BY_CATALOGUE, 1000000, BY_CATALOGUE});
}

static void tables_with_rows_by_number_of_gpus(void) {
  const struct hr_speed_row rows[] = {{a, 1}, {a, 4}, {b, 1}};
  write_file("s.csv", "model,gpus,gpu,throughput\nA,4,V100,200\nA,4,P100,50\nA,,V100,10\nA,1,P100,20\n"
                      "B,,V100,3\n");
  expect_rows(MODELS(REFERENCE ",\"file\":\"s.csv\""), 3, rows,
              (const uint32_t[]){1000000, 2000000, 1000000, 250000, 1000000, BY_CATALOGUE, 1000000, BY_CATALOGUE});
  write_file("s.csv", "model,gpu,speed\nA,P100,0.5\nB,P100,0.25\n");
  const struct hr_speed_row plain[] = {{a, 1}, {b, 1}};
  expect_rows(MODELS(REFERENCE ",\"file\":\"s.csv\",\"speeds\":{\"B\":{\"P100\":0.75}}"), 2, plain,
              (const uint32_t[]){1000000, 500000, 1000000, 750000, 1000000, BY_CATALOGUE});
}

static void published_throughputs_are_read(void) {
  const struct hr_speed_row rows[] = {{a, 1}, {c, 1}, {c, 2}};
  write_file("t.json", "{\"v100\":{\"('C (batch size 16)', 1)\":{\"null\":8,\"('A', 1)\":[1,2]},"
                       "\"('C (batch size 16)', 2)\":{\"null\":10},\"('A', 1)\":{\"null\":4.0}},"
                       "\"p100\":{\"('C (batch size 16)', 1)\":{\"('A', 1)\":[1,2],\"null\":2},"
                       "\"('C (batch size 16)', 2)\":{\"null\":1}},"
                       "\"p100_unconsolidated\":{\"('A', 1)\":{\"null\":1}}}");
  expect_rows(MODELS(REFERENCE ",\"default\":\"same\",\"file\":\"t.json\""), 3, rows,
              (const uint32_t[]){1000000, 1000000, 1000000, 250000, 1000000, 100000, 1000000, 1000000});
}

static void errors_have_a_position(void) {
  static const char *const cases[][2] = {
      {MODELS("\"default\":\"same\""), "s.json:1:173: 'models' lacks the key 'reference'..."},
      {MODELS(REFERENCE ",\"defualt\":\"same\""),
       "s.json:2:20: unknown key 'models.defualt'; did you mean 'models.default'? (known keys: reference, default, "
       "file, speeds)"},
      {MODELS(REFERENCE ",\"speeds\":{\"A\":{\"P100\":-1}}"),
       "s.json:2:42: 'models.speeds.A.P100' is the number -1; a number from 0 to 1000000000 is expected"},
      {MODELS(REFERENCE ",\"speeds\":{\"A\":{\"V100\":0,\"P100\":1}}"),
       "s.json:2:42: 'A' does not run on the reference type: nothing can be relative to that"},
      {MODELS(REFERENCE ",\"speeds\":{\"A\":{\"V100\":0.0001,\"P100\":1}}"),
       "s.json:2:56: 'A' would be more than 4000 times as fast as on the reference type"},
      {MODELS(REFERENCE ",\"speeds\":{\"A\":{\"P100\":1,\"p100\":1}}"),
       "s.json:2:51: 'A' (gpus 1) has two figures for 'p100'"},
      {MODELS("\"reference\":\"V10\""),
       "s.json:2:13: the default 'catalogue' wants the FP16 TFLOPS of the reference "
       "type; say so in catalog.gpus_file, or take \"default\": \"same\": GPU type 'V10' "
       "is unknown; similar: V100, V100-32"},
      {MODELS(REFERENCE ",\"file\":\"no.csv\""), "no.csv: ..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
  write_text("{\"models\":{" REFERENCE "},\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":["
             "{\"name\":\"own\",\"gpu\":\"ZZ9\",\"nodes\":1,\"gpus_per_node\":8}]}}");
  expect_error(NULL, 0,
               "s.json:1:11: the default 'catalogue' wants the FP16 TFLOPS of pool 'own'; say so in "
               "catalog.gpus_file, or take \"default\": \"same\": GPU type 'ZZ9' is unknown...");
}

static void errors_in_files_have_a_position(void) {
  static const char *const cases[][3] = {
      {"s.csv", "model,gpu,speed\nA,P100,0.5\nA,P100,0.6\n", "s.csv:3: this row is the same as that of line 2"},
      {"s.csv", "model,gpu,speed\nA,P100,fast\n", "s.csv:2: column 'speed': 'fast' is not a number from 0 to ..."},
      {"s.csv", "model,gpu,speed\nA,P100,\n", "s.csv:2: a row has a 'speed' or a 'throughput', one of them"},
      {"s.csv", "model,gpu,gpus,speed\nA,P100,0,1\n", "s.csv:2: column 'gpus' is not a whole number from 1 to 4000000"},
      {"s.csv", "model,speed\nA,1\n", "s.csv:1: a table of speeds needs the column 'gpu'"},
      {"s.csv", "model,gpu,throughput\nB,V100,2\nA,P100,1\n",
       "s.csv:3: 'A' (gpus 1) has no throughput on the reference type 'V100'"},
      {"s.csv", "model,gpu,gpus,speed\nA,P100,,1\nA,P100,1,2\n", "s.csv:3: 'A' (gpus 1) has two figures for 'P100'"},
      {"t.json", "{\"v100\":{\n\"A\":{\"null\":1}}}",
       "t.json:2:1: a model and its GPUs are expected, as \"('ResNet-18', 1)\""},
      {"t.json", "{\"v100\":{\n\"('A', 1)\":{\"x\":1}}}",
       "t.json:2:12: the throughput of the job alone is expected, as {\"null\": 12.5}"},
      {"t.json", "{\"v100\":{\n\"('A', 1)\":{\"null\":-1}}}", "t.json:2:20: a throughput is a number from 0 to 1e9"},
      {"t.json", "{\"v100\":{},\"p100\":{\n\"('A', 1)\":{\"null\":1}}}",
       "t.json:2:20: 'A' (gpus 1) has no throughput on the reference type 'V100'"},
      {"t.json", "[]", "t.json:1:1: an object {...} of GPU types is expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1000];
    write_file(cases[i][0], cases[i][1]);
    snprintf(text, sizeof text, MODELS(REFERENCE ",\"file\":\"%s\""), cases[i][0]);
    write_text(text);
    expect_error(NULL, 0, cases[i][2]);
  }
}

static void misspelt_gpu_types_are_noted(void) {
  write_text(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"V1OO\":1}}"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_TRUE(has_note(scenario, "warning: models, 'A': GPU type 'V1OO' is unknown..."));
  hr_scenario_destroy(scenario);
}

/* A speed for the name of a pool has precedence over the speed for its GPU type. The reference is a GPU type, not a
   pool. */
static void pools_can_have_speeds(void) {
  const struct hr_speed_row rows[] = {{a, 1}};
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"V100\":4,\"P100\":1,\"slow\":3}}"), 1, rows,
              (const uint32_t[]){1000000, 750000, 1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"slow\":3}}"), 1, rows,
              (const uint32_t[]){1000000, 3000000, 1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"fast\":2,\"P100\":0.5}}"), 1, rows,
              (const uint32_t[]){2000000, 500000, 1000000, BY_CATALOGUE});
  expect_rows(MODELS(REFERENCE ",\"speeds\":{\"A\":{\"V100\":4,\"fast\":1,\"slow\":0}}"), 1, rows,
              (const uint32_t[]){250000, 0, 1000000, BY_CATALOGUE});
  write_file("s.csv", "model,gpu,speed\nA,slow,3\n");
  expect_rows(MODELS(REFERENCE ",\"file\":\"s.csv\""), 1, rows,
              (const uint32_t[]){1000000, BY_CATALOGUE, 1000000, BY_CATALOGUE});
}

static void names_of_pools_are_case_sensitive(void) {
  write_text("{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":["
             "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":8},"
             "{\"name\":\"P\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":8}]},"
             "\"models\":{" REFERENCE ",\"speeds\":{\"A\":{\"p\":2,\"P\":3}}}}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->speeds->ppm[0], 2000000);
  CU_ASSERT_EQUAL(scenario->speeds->ppm[1], 3000000);
  hr_scenario_destroy(scenario);
}

/* Names of pools are not reported as misspelt GPU types. Misspelt names of pools are reported. */
static void misspelt_pools_are_noted(void) {
  static const char *const overrides[] = {"cluster.pools.0.name=V1OO", "cluster.pools.1.name=A1OO"};
  write_text(MODELS(REFERENCE ",\"default\":\"same\",\"speeds\":{\"A\":{\"V1OO\":1,\"A1OO\":1,\"A100-40\":1}}"));
  struct hr_scenario *scenario = load(overrides, 2);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
  write_text(MODELS(REFERENCE ",\"default\":\"same\",\"speeds\":{\"A\":{\"solw\":1}}"));
  scenario = load(NULL, 0);
  CU_ASSERT_TRUE(has_note(scenario, "warning: models, 'A': 'solw' is no pool's name; did you mean 'slow'?"));
  hr_scenario_destroy(scenario);
}

static void overrides_change_speeds(void) {
  static const char *const overrides[] = {"models.speeds.A.P100=0.5", "models.default=same"};
  write_text(MODELS(REFERENCE));
  struct hr_scenario *scenario = load(overrides, 2);
  CU_ASSERT_EQUAL(scenario->speeds->ppm[1], 500000);
  CU_ASSERT_EQUAL(scenario->speeds->ppm[3], 1000000);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("scenarios_models", TEST(create_test_folder), TEST(without_the_section_there_are_no_speeds),
          TEST(default_speeds_are_ratios_of_the_catalogue), TEST(one_word_selects_the_speeds_of_the_catalogue),
          TEST(stated_speeds_are_relative_to_the_reference), TEST(tables_with_rows_by_number_of_gpus),
          TEST(published_throughputs_are_read), TEST(errors_have_a_position), TEST(errors_in_files_have_a_position),
          TEST(misspelt_gpu_types_are_noted), TEST(pools_can_have_speeds), TEST(names_of_pools_are_case_sensitive),
          TEST(misspelt_pools_are_noted), TEST(overrides_change_speeds))
